-- Take a key for an update of several keys: replace its value by a seal, and return it. It uses one key only, so
-- that no proxy and no slot migration can separate its check from its write.
--
-- A seal is a list, since each command that reads a string or a hash refuses it with WRONGTYPE: magic, 'tx', nonce,
-- the key of the decision, type of the value, its PTTL, the server's time in ms, the value.
--
-- KEYS[1]  the data key
-- ARGV[1]  the nonce of the seal
-- ARGV[2]  the key of the decision
-- ARGV[3]  the expected type, 'string' or 'hash'
-- ARGV[4]  the slot of the key in a Redis Cluster
-- ARGV[5]  the greatest size of a value in bytes
-- ARGV[6]  what to check first: '1' that the slot does not move, '2' also that the rights suffice
--
-- Returns {1, value} for a string, {1, field, value, ...} for a hash, {1} if the key is absent; 6 instead of 1 if the
--         server is one of a Redis Cluster, where each take must check, as far as it was asked;
--         {0, state, nonce, key} the seal or the marker in the way;
--         {2, TYPE} if the key has another type;
--         {3} if a Redis Cluster moves the slot, so that the key cannot be replaced;
--         {4, bytes} if the value is too large;
--         {5} if fields of the hash have an expiry, which a seal would drop;
--         {7, command, error} if the server refuses a command that an update of several keys needs.
--         Else nothing was written; so after an error reply.
local magic = '~unwatch:9f2c4e7b'
if redis.replicate_commands then
  redis.replicate_commands() -- Redis before 5 refuses a write after TIME otherwise
end

-- Returns {7} if any of these pairs of a command and the reply to it is a refusal. A server that permits the command answers
-- that the key is of another type, or that an argument is wrong.
local function refused(tried)
  for _, t in ipairs(tried) do
    local text = type(t[2]) == 'table' and t[2].err and string.lower(t[2].err)
    for _, words in ipairs({'noperm', 'acl failure', 'the user executing the script', 'unknown command', 'unknown redis command'}) do
      if text and string.find(text, words, 1, true) then
        return {7, t[1], t[2].err}
      end
    end
    if text and string.find(text, 'oom command', 1, true) then
      return t[2]
    end
  end
end

-- Returns {'fields'} as {5} if a field of the hash has an expiry, the error of a server that does not tell, or nil.
local function expiring(value)
  for i = 1, #value, 2000 do
    local fields = {}
    for j = i, math.min(i + 1998, #value), 2 do
      fields[#fields + 1] = value[j]
    end
    local times = redis.pcall('HPTTL', KEYS[1], 'FIELDS', #fields, unpack(fields))
    if times.err then
      local text = string.lower(times.err)
      local without = string.find(text, 'unknown redis command', 1, true) or string.find(text, 'unknown command', 1, true)
      return not without and times or nil
    end
    for _, ms in ipairs(times) do
      if ms ~= -1 then
        return {5}
      end
    end
  end
end

-- While a Redis Cluster moves a slot, its node refuses a script each key that it does not have, so also the key that
-- the script has deleted: DEL would be the last command. Returns whether that is so, and the status of the reply, or the
-- error of a server that does not tell.
local function moving()
  local nodes = redis.pcall('CLUSTER', 'NODES')
  if type(nodes) == 'table' then
    local text = string.lower(nodes.err)
    local single = string.find(text, 'cluster support disabled', 1, true) or string.find(text, 'unknown', 1, true)
    return not single and (refused({{'CLUSTER NODES', nodes}}) or nodes), 1
  end
  return string.find(nodes, '[' .. ARGV[4] .. '-', 1, true) and {3}, 6
end

-- Tries the commands that open.lua, look.lua, decided.lua, list.lua and the index need, without a change.
local all = ARGV[6] == '2'
local refusal = all and refused({
  {'PTTL', redis.pcall('PTTL', KEYS[1])},
  {'TYPE', redis.pcall('TYPE', KEYS[1])},
  {'LRANGE', redis.pcall('LRANGE', KEYS[1], 0, 0)},
  {'SMEMBERS', redis.pcall('SMEMBERS', KEYS[1])},
  {'HGETALL', ARGV[3] == 'hash' or redis.pcall('HGETALL', KEYS[1])},
  {'HGET', redis.pcall('HGET', KEYS[1], ARGV[1])},
  {'TIME', redis.pcall('TIME')},
  {'SET', redis.pcall('SET', KEYS[1], '', 'no option')},
  {'HSET', redis.pcall('HSET', KEYS[1], 'a', 'b', 'no value')},
  {'HMSET', redis.pcall('HMSET', KEYS[1], 'a', 'b', 'no value')},
  {'PEXPIRE', redis.pcall('PEXPIRE', KEYS[1], 'no number')},
})
if refusal then
  return refusal
end

-- Tries further ones on a key that is there, of a hash with this field.
local function refusedThere(field)
  return refused({
    {'HDEL', redis.pcall('HDEL', KEYS[1], ARGV[1])}, -- no field has this name
    {'HSETNX', redis.pcall('HSETNX', KEYS[1], field, '')},
    {'SADD', redis.pcall('SADD', KEYS[1], '')},
  })
end

local value -- a list, or nil if the key holds something else
local size = 0
if ARGV[3] == 'string' then
  local reply = redis.pcall('GET', KEYS[1])
  refusal = refused({{'GET', reply}})
  if type(reply) == 'string' then
    value, size = {reply}, #reply
  end
else
  local reply = redis.pcall('HGETALL', KEYS[1])
  refusal = refused({{'HGETALL', reply}})
  if #reply > 0 then
    value = reply
    for _, v in ipairs(value) do
      size = size + #v
    end
  end
end
local pttl = redis.pcall('PTTL', KEYS[1])
refusal = refusal or refused({{'PTTL', pttl}}) or type(pttl) == 'table' and pttl
if refusal then
  return refusal
end
if not value and pttl ~= -2 then
  local reply = redis.pcall('TYPE', KEYS[1])
  local kind = reply.ok
  local head = kind == 'list' and redis.pcall('LRANGE', KEYS[1], 0, 3)
  refusal = refused({{'TYPE', reply}, {'LRANGE', head}}) or reply.err and reply or head and head.err and head
  if refusal then
    return refusal
  end
  if head and head[1] == magic then
    return {0, head[2] or '', head[3] or '', head[4] or ''}
  elseif kind == 'hash' and ARGV[3] == kind then
    return {5} -- all fields have expired
  elseif kind ~= 'none' then
    return {2, kind}
  end
  pttl = -2
end
if size > tonumber(ARGV[5]) then
  return {4, size}
end
if value and ARGV[3] == 'hash' then
  local stays = expiring(value)
  if stays then
    return stays
  end
end

local seal = {magic, 'tx', ARGV[1], ARGV[2], value and ARGV[3] or 'none', '-1', '0'}
if value and pttl >= 0 then
  local now = redis.pcall('TIME')
  if now.err then
    return refused({{'TIME', now}}) or now
  end
  seal[6] = string.format('%.0f', math.max(pttl, 1)) -- at 0 it expires within this millisecond
  seal[7] = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000)) -- Lua would write 1.7e+12
end
for i, v in ipairs(value or {}) do
  seal[7 + i] = v
end
local status = 1
if ARGV[6] ~= '0' and (value or all) then
  local stays
  stays, status = moving()
  if stays then
    return stays
  end
end
if not value then
  local gone = all and redis.pcall('DEL', KEYS[1])
  local made = type(gone) == 'table' and gone or redis.pcall('RPUSH', KEYS[1], unpack(seal))
  if type(made) == 'table' then
    return refused({{'DEL', gone}, {'RPUSH', made}}) or made
  end
  refusal = all and refusedThere('')
  if refusal then
    redis.call('DEL', KEYS[1])
    return refusal
  end
  return {status}
end
if all then
  local tried = redis.pcall('RPUSH', KEYS[1], '')
  if type(tried) == 'table' and not string.find(tried.err, 'WRONGTYPE', 1, true) then
    return refused({{'RPUSH', tried}}) or tried
  end
  refusal = refusedThere(value[1])
  if refusal then
    return refusal
  end
end
local gone = redis.pcall('DEL', KEYS[1])
if type(gone) == 'table' then
  return refused({{'DEL', gone}}) or gone
end
for i = 1, #seal, 1000 do
  redis.call('RPUSH', KEYS[1], unpack(seal, i, math.min(i + 999, #seal)))
end
table.insert(value, 1, status)
return value

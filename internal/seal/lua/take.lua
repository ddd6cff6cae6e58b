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
--         server is one of a Redis Cluster, where each take must check;
--         {0, state, nonce, key} the seal or the marker in the way;
--         {2, TYPE} if the key has another type;
--         {3} if a Redis Cluster moves the slot, so that the key cannot be replaced;
--         {4, bytes} if the value is too large;
--         {5} if fields of the hash have an expiry, which a seal would drop.
--         Else nothing was written; so after an error reply.
local magic = '~unwatch:9f2c4e7b'
if redis.replicate_commands then
  redis.replicate_commands() -- Redis before 5 refuses a write after TIME otherwise
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
    return not single and nodes, 1
  end
  return string.find(nodes, '[' .. ARGV[4] .. '-', 1, true) and {3}, 6
end

local value -- a list, or nil if the key holds something else
local size = 0
if ARGV[3] == 'string' then
  local reply = redis.pcall('GET', KEYS[1])
  if type(reply) == 'string' then
    value, size = {reply}, #reply
  end
else
  local reply = redis.pcall('HGETALL', KEYS[1])
  if #reply > 0 then
    value = reply
    for _, v in ipairs(value) do
      size = size + #v
    end
  end
end
local pttl = redis.call('PTTL', KEYS[1])
if not value and pttl ~= -2 then
  local kind = redis.call('TYPE', KEYS[1]).ok
  local head = kind == 'list' and redis.call('LRANGE', KEYS[1], 0, 3)
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
  local now = redis.call('TIME')
  seal[6] = string.format('%.0f', math.max(pttl, 1)) -- at 0 it expires within this millisecond
  seal[7] = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000)) -- Lua would write 1.7e+12
end
for i, v in ipairs(value or {}) do
  seal[7 + i] = v
end
if not value then
  local made = redis.pcall('RPUSH', KEYS[1], unpack(seal))
  return type(made) == 'table' and made or {1}
end
local status = 1
if ARGV[6] ~= '0' then
  local stays
  stays, status = moving()
  if stays then
    return stays
  end
end
if ARGV[6] == '2' then
  local tried = redis.pcall('RPUSH', KEYS[1], '')
  if type(tried) == 'table' and not string.find(tried.err, 'WRONGTYPE', 1, true) then
    return tried
  end
end
local gone = redis.pcall('DEL', KEYS[1])
if type(gone) == 'table' then
  return gone
end
for i = 1, #seal, 1000 do
  redis.call('RPUSH', KEYS[1], unpack(seal, i, math.min(i + 999, #seal)))
end
table.insert(value, 1, status)
return value

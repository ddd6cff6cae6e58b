-- One step in the move of a key between two stores, on the key in one store. It uses one
-- key only, so no proxy and no slot migration can separate its check from its write.
--
-- A marker is a list: magic, 'sealed' or 'away', nonce, nonce of the other store's
-- marker, type of the value, its PTTL, the server's time in ms, the value. A list, since
-- each command that reads a string or a hash refuses it with WRONGTYPE. The seal of an
-- update of several keys has the same form: see internal/seal/doc.go.
--
-- KEYS[1]  the data key
-- ARGV[1]  the step
-- ARGV[2]  the nonce of the marker
-- ARGV[3…] of the step:
--   look       'value' for the value of a marker that is away
--   reserve    make a marker of an absent key
--   seal       make a marker of the value; the other nonce, the greatest size in bytes
--   fill       replace the marker by a value; type, ms to live or -1, the value
--   mark       the value has arrived in the other store
--   unseal     replace the marker by its value
--   unreserve  delete the marker that was never sealed
--   fields     look for a hash that a seal refuses because of its fields
--   touch      write the marker as it is, for a WAIT on this connection, or to see whether
--              the server has room
--
-- A step that finds another state changes nothing, and so do seal, fill and unseal in a slot
-- that a Redis Cluster moves. Returns the state afterwards:
--   {'open', TYPE}, TYPE 'none' if the key is absent
--   {'sealed' or 'away', nonce, other nonce, TYPE, ms to live or -1, value...}, without the
--     value if it is away, unless asked for
--   {'large', TYPE, bytes} if the value is too large to be sealed
--   {'fields', TYPE} if fields of the hash have an expiry: a seal would drop it
--   {'tx', nonce, key of the decision, TYPE} if an update of several keys has sealed the key,
--     TYPE of the value that the seal holds
--   {'other', state} of a newer build
--   {'damaged'} if another program has changed the marker, as with LTRIM or LSET
local magic = '~unwatch:9f2c4e7b'
local step = ARGV[1]
if redis.replicate_commands then
  redis.replicate_commands() -- Redis before 5 refuses a write after TIME otherwise
end

-- The server's time in ms, as text.
local function time()
  local t = redis.call('TIME')
  return string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)) -- Lua would write 1.7e+12
end

-- Returns the error of the first write, which becomes the reply: nothing was written then. A
-- command that must not fail halfway is tried first, on a value of another type: it
-- changes nothing, and shows an error of the ACL, or of memory.
local function refused(reply)
  return type(reply) == 'table' and reply.err and not string.find(reply.err, 'WRONGTYPE') and reply
end

-- While a Redis Cluster moves a slot, its node refuses a script each key that it does not
-- have, so also the key that the script has deleted: DEL would be the last command. An
-- absent key of the same slot shows whether that is so. No such key can be named for a key
-- with '}' and without a hash tag. Returns true then, or the error of another cause.
local function fragile()
  local from = string.find(KEYS[1], '{', 1, true)
  local to = from and string.find(KEYS[1], '}', from + 1, true)
  local tagged = to and to > from + 1
  local reply = redis.pcall('EXISTS', (tagged and KEYS[1] or '{' .. KEYS[1] .. '}') .. '~unwatch:none')
  if type(reply) ~= 'table' then
    return false
  end
  for _, text in ipairs({'non local key', 'same slot', 'ASK', 'MOVED', 'TRYAGAIN'}) do
    if string.find(reply.err, text, 1, true) then
      return true
    end
  end
  return reply
end

-- Replace the marker by a value: the elements of a list from the first one, as many at a
-- time as Lua's stack holds. Returns an error if it cannot, or true if the slot moves.
local function open(kind, left, list, first)
  if kind == 'none' or left == 0 then
    return refused(redis.pcall('DEL', KEYS[1]))
  elseif kind == 'string' and left > 0 then
    return refused(redis.pcall('SET', KEYS[1], list[first], 'PX', string.format('%.0f', left)))
  elseif kind == 'string' then
    return refused(redis.pcall('SET', KEYS[1], list[first]))
  else
    local problem = refused(redis.pcall('HMSET', KEYS[1], 'field', 'value')) or fragile()
    if problem then
      return problem
    end
    if left > 0 then
      redis.call('PEXPIRE', KEYS[1], '86400000')
    end
    redis.call('DEL', KEYS[1])
    for i = first, #list, 1000 do
      redis.call('HMSET', KEYS[1], unpack(list, i, math.min(i + 999, #list)))
    end
    if left > 0 then
      redis.call('PEXPIRE', KEYS[1], string.format('%.0f', left))
    end
  end
end

-- The milliseconds that a sealed value has left, or -1.
local function left(pttl, at)
  if pttl == '-1' then
    return -1
  end
  return math.max(0, pttl - (time() - at))
end

-- Returns {'fields', 'hash'} if a field of the hash has an expiry, the error of a server that does not
-- tell, or nil. A server without HPTTL has no such fields. A hash without any value has expired fields only.
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
        return {'fields', 'hash'}
      end
    end
  end
  return #value == 0 and {'fields', 'hash'} or nil
end

-- Read the type of the key, and its marker without the value, or nil.
local function see()
  local kind = redis.call('TYPE', KEYS[1]).ok
  local head = kind == 'list' and redis.call('LRANGE', KEYS[1], 0, 6)
  return kind, head and head[1] == magic and head or nil
end

local kind, marker = see()
if marker and marker[2] == 'tx' then
  return {'tx', marker[3] or '', marker[4] or '', marker[5] or ''}
elseif marker and marker[2] and marker[2] ~= 'sealed' and marker[2] ~= 'away' then
  return {'other', marker[2]}
elseif marker and not (tonumber(marker[6] or '') and tonumber(marker[7] or '')) then
  return {'damaged'}
end
local state = marker and marker[2]
local ours = marker and marker[3] == ARGV[2]
local problem -- of the first write

if step == 'reserve' and kind == 'none' then
  marker = {magic, 'away', ARGV[2], '', 'none', '-1', time()}
  problem = refused(redis.pcall('RPUSH', KEYS[1], unpack(marker)))
elseif step == 'seal' and (kind == 'string' or kind == 'hash' or kind == 'none') then
  local size, limit, pttl, value = 0, tonumber(ARGV[4]), redis.call('PTTL', KEYS[1]), {}
  if kind == 'string' then
    size = redis.call('STRLEN', KEYS[1])
  elseif kind == 'hash' then
    size = redis.call('HLEN', KEYS[1])
  end
  if size <= limit then
    if kind == 'string' then
      value = {redis.call('GET', KEYS[1])}
    elseif kind == 'hash' then
      value = redis.call('HGETALL', KEYS[1])
      size = 0
      for _, v in ipairs(value) do
        size = size + #v
      end
    end
  end
  if size > limit then
    return {'large', kind, size}
  end
  local stays = kind == 'hash' and expiring(value)
  if stays then
    return stays
  end
  if pttl == 0 then
    pttl = 1 -- it expires within this millisecond
  end
  marker = {magic, 'sealed', ARGV[2], ARGV[3], kind, string.format('%.0f', math.max(pttl, -1)), time()}
  for i, v in ipairs(value) do
    marker[7 + i] = v
  end
  if kind == 'none' then
    problem = refused(redis.pcall('RPUSH', KEYS[1], unpack(marker)))
  else
    problem = refused(redis.pcall('RPUSH', KEYS[1], '')) or fragile()
    if problem then
      return problem == true and {'open', kind} or problem
    end
    redis.call('DEL', KEYS[1])
    for i = 1, #marker, 1000 do
      redis.call('RPUSH', KEYS[1], unpack(marker, i, math.min(i + 999, #marker)))
    end
  end
elseif step == 'fill' and state == 'away' and ours then
  problem = open(ARGV[3], tonumber(ARGV[4]), ARGV, 5)
  if problem and problem ~= true then
    return problem
  end
  kind, marker = see()
elseif step == 'mark' and state == 'sealed' and ours then
  problem = refused(redis.pcall('LSET', KEYS[1], 1, 'away'))
  marker[2] = 'away'
elseif step == 'unseal' and state == 'sealed' and ours then
  local all = redis.call('LRANGE', KEYS[1], 4, -1)
  if all[1] == 'string' and #all ~= 4 or all[1] == 'hash' and (#all < 5 or #all % 2 == 0) or all[1] == 'none' and #all ~= 3 then
    return {'damaged'}
  end
  problem = open(all[1], left(all[2], all[3]), all, 4)
  if problem and problem ~= true then
    return problem
  end
  kind, marker = see()
elseif step == 'unreserve' and state == 'away' and ours and marker[4] == '' then
  problem = refused(redis.pcall('DEL', KEYS[1]))
  kind, marker = see()
elseif step == 'touch' and ours then
  problem = refused(redis.pcall('LSET', KEYS[1], 0, magic))
elseif step == 'fields' and kind == 'hash' then
  local stays = expiring(redis.call('HGETALL', KEYS[1]))
  if stays then
    return stays
  end
end
if problem and problem ~= true then
  return problem
end

if not marker then
  return {'open', kind}
end
local reply = {marker[2], marker[3], marker[4], marker[5], left(marker[6], marker[7])}
if marker[2] == 'sealed' or ARGV[3] == 'value' and step == 'look' then
  local value = marker[8] and marker or redis.call('LRANGE', KEYS[1], 0, -1)
  for i = 8, #value do
    reply[i - 2] = value[i]
  end
end
return reply

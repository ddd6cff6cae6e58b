-- Read a value, from the master. A proxy may send GET and HGETALL to a replica, but
-- not a script.
--
-- KEYS[1]  the data key
-- ARGV[1]  the expected type, 'string' or 'hash'
--
-- Returns the value, or nil; for a hash field, value, ..., empty if the key is absent.
--         {TYPE} if the key has another type; {'none'} if the key is absent and the read
--         fails.
local value
if ARGV[1] == 'string' then
  value = redis.pcall('GET', KEYS[1])
else
  value = redis.pcall('HGETALL', KEYS[1])
end
if type(value) == 'table' and value.err then -- most likely WRONGTYPE
  local kind = redis.call('TYPE', KEYS[1]).ok
  if kind ~= ARGV[1] then
    return {kind}
  end
end
return value

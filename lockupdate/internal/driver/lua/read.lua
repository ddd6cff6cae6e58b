-- Read a value, from the master: a proxy may serve GET and HGETALL from a replica,
-- but not a script.
--
-- KEYS[1]  the data key
-- ARGV[1]  the type it should have, 'string' or 'hash'
--
-- Returns the value, or nil; or field, value, ..., none if there is no hash; or {TYPE} of
--         what it should not be, and {'none'} if the key is absent and cannot be read.
local value
if ARGV[1] == 'string' then
  value = redis.pcall('GET', KEYS[1])
else
  value = redis.pcall('HGETALL', KEYS[1])
end
if type(value) == 'table' and value.err then -- most likely about the type
  local kind = redis.call('TYPE', KEYS[1]).ok
  if kind ~= ARGV[1] then
    return {kind}
  end
end
return value

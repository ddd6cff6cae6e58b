-- Read a value, from the master: a proxy may serve GET and HGETALL from a replica,
-- but not a script.
--
-- KEYS[1]  the data key
-- ARGV[1]  the type it should have, 'string' or 'hash'
--
-- Returns the value, if it should be a string and is one, or nil if there is none;
--         {'none'} or {'hash', field, value, ...} if it should be a hash; or {TYPE} of
--         what it should not be.
local value
if ARGV[1] == 'string' then
  -- One call instead of two where the type is right.
  value = redis.pcall('GET', KEYS[1])
  if type(value) ~= 'table' then
    return value
  end
end
local reply = {redis.call('TYPE', KEYS[1]).ok}
if reply[1] == ARGV[1] then
  if value then
    return value -- an error that is not about the type
  end
  for i, v in ipairs(redis.call('HGETALL', KEYS[1])) do
    reply[i + 1] = v
  end
end
return reply

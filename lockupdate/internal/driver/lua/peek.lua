-- Read a value and how long it has left, of one moment, from the master: a proxy may
-- serve PTTL from a replica, too. See read.lua.
--
-- KEYS[1]  the data key
-- ARGV[1]  the type it should have, 'string' or 'hash'
--
-- Returns {TYPE, PTTL}, followed by the value, or by field, value, ..., if it is of the
--         type it should have.
local reply = {redis.call('TYPE', KEYS[1]).ok, redis.call('PTTL', KEYS[1])}
if reply[1] == ARGV[1] then
  if ARGV[1] == 'string' then
    -- Nothing, where a script does not stop the clock and the key has just expired.
    reply[3] = redis.call('GET', KEYS[1]) or nil
  else
    for i, v in ipairs(redis.call('HGETALL', KEYS[1])) do
      reply[i + 2] = v
    end
  end
end
return reply

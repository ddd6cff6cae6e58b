-- Read a lock, from the master.
--
-- KEYS[1]  the lock
--
-- Returns {TYPE, PTTL, field, value, ...}; no fields if it is not a hash.
local reply = {redis.call('TYPE', KEYS[1]).ok, redis.call('PTTL', KEYS[1])}
if reply[1] == 'hash' then
  for i, v in ipairs(redis.call('HGETALL', KEYS[1])) do
    reply[i + 2] = v
  end
end
return reply

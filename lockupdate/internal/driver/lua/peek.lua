-- Read a value and its remaining time to live in one step, from the master. A proxy may
-- send GET, HGETALL and PTTL to a replica, but not a script.
--
-- KEYS[1]  the data key
-- ARGV[1]  the expected type, 'string' or 'hash'
--
-- Returns {TYPE, PTTL}, followed by the value, or by field, value, ..., if the key has
--         the expected type. TYPE is 'moved' if the key has the marker of a move.
local reply = {redis.call('TYPE', KEYS[1]).ok, redis.call('PTTL', KEYS[1])}
if reply[1] == ARGV[1] then
  if ARGV[1] == 'string' then
    -- GET returns nothing if the key expired since TYPE: old servers let time pass in a script.
    reply[3] = redis.call('GET', KEYS[1]) or nil
  else
    for i, v in ipairs(redis.call('HGETALL', KEYS[1])) do
      reply[i + 2] = v
    end
  end
elseif reply[1] == 'list' then
  local head = redis.pcall('LRANGE', KEYS[1], 0, 1)
  if head[1] == '~unwatch:9f2c4e7b' and (head[2] == 'sealed' or head[2] == 'away') then
    reply[1] = 'moved'
  end
end
return reply

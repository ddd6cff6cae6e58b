-- Draw the next fencing token of a lock. Only its holder asks.
--
-- KEYS[1]  the counter
-- ARGV[1]  the least that the token may be: the microseconds of the asker's clock
-- ARGV[2]  how long the counter is kept, in milliseconds
--
-- Returns the token, as decimal digits.
--
-- The counter may go once nobody has drawn for long, so that a lock for each of
-- many keys leaves nothing behind: by then the clock is past it.
local last = tonumber(redis.call('GET', KEYS[1]) or '0') or 0
local token = string.format('%.0f', math.max(last + 1, tonumber(ARGV[1])))
redis.call('SET', KEYS[1], token, 'PX', ARGV[2])
return token

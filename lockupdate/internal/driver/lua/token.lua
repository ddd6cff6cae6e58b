-- Return the next fencing token of a lock. Only the lock's holder runs this.
--
-- KEYS[1]  the counter
-- ARGV[1]  the smallest allowed token: the microseconds of the holder's clock
-- ARGV[2]  how long the counter is kept, in milliseconds
--
-- Returns the token, as decimal digits.
--
-- The counter expires after long disuse, so that locks of many keys leave nothing
-- behind. By then the holder's clock is past the last token.
if redis.replicate_commands then
  redis.replicate_commands() -- Redis before 5 repeats the script at a restart, and starts the expiry anew
end
local last = tonumber(redis.call('GET', KEYS[1]) or '0') or 0
local token = string.format('%.0f', math.max(last + 1, tonumber(ARGV[1])))
local set = redis.pcall('SET', KEYS[1], token, 'PX', ARGV[2])
return set.err and set or token -- the error as it is proves that nothing was written

-- Release the lock if the owner still holds it.
--
-- KEYS[1]  the lock
-- ARGV[1]  the owner
--
-- Returns 0 if the owner did not hold the lock, else 1 plus the waiters' hint: the
--         milliseconds within which the slowest waiter polls again, or 0.
local lock = redis.call('HMGET', KEYS[1], ARGV[1], 'unwatch-waiting')
if not lock[1] then
  return 0
end
local gone = redis.pcall('DEL', KEYS[1])
if type(gone) == 'table' then
  return gone -- the error as it is proves that nothing was written
end
-- A malformed hint must not turn the result into 0.
return 1 + math.min(math.max(0, tonumber(lock[2] or 0) or 0), 2^31)

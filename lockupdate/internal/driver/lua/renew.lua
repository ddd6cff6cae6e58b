-- Renew the lease if the owner still holds the lock.
--
-- KEYS[1]  the lock
-- ARGV[1]  the owner
-- ARGV[2]  the lease in milliseconds
--
-- Returns 0 if the owner does not hold the lock, else 1 plus the waiters' hint: the
--         milliseconds within which the slowest waiter polls again, or 0.
if redis.replicate_commands then
  redis.replicate_commands() -- Redis before 5 repeats the script at a restart, and starts the expiry anew
end
local lock = redis.call('HMGET', KEYS[1], ARGV[1], 'unwatch-waiting')
if not lock[1] then
  return 0
end
local set = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
if type(set) == 'table' then
  return set -- the error as it is proves that nothing was written
end
-- A malformed hint must not turn the result into 0.
return 1 + math.min(math.max(0, tonumber(lock[2] or 0) or 0), 2^31)

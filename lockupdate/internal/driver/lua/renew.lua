-- Prolong the lease. Never takes a lock that is no longer ours.
--
-- KEYS[1]  the lock
-- ARGV[1]  the owner
-- ARGV[2]  the lease in milliseconds
--
-- Returns 0 if the lock is not ours, else 1 plus the note of a waiter: the
--         milliseconds within which it asks again; 0 if nobody waits.
local lock = redis.call('HMGET', KEYS[1], ARGV[1], 'unwatch-waiting')
if not lock[1] then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
-- A note that is none of ours must not make this a 0.
return 1 + math.min(math.max(0, tonumber(lock[2] or 0) or 0), 2^31)

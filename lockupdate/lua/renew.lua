-- Prolong the lease. Never takes a lock that is no longer ours.
--
-- KEYS[1]  the lock
-- ARGV[1]  the owner
-- ARGV[2]  the lease in milliseconds
--
-- Returns 1 if prolonged, 0 if the lock is not ours.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0

-- Give the lock back. Never touches a lock that is no longer ours.
--
-- KEYS[1]  the lock
-- ARGV[1]  the owner
--
-- Returns 1 if released, 0 if the lock was not ours.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  return redis.call('DEL', KEYS[1])
end
return 0

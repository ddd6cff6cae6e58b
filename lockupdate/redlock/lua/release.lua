-- Give the lock back on this node. Never touches another's.
--
-- KEYS[1]  the lock
-- ARGV[1]  the owner
--
-- Returns 1 if the lock was ours, else 0.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.pcall('DEL', KEYS[1])
end
return 0

-- Prolong the lock on this node. Never creates one, never touches another's.
--
-- KEYS[1]  the lock
-- ARGV[1]  the owner
-- ARGV[2]  the lease in milliseconds
--
-- Returns 1 if the lock is ours and lives for another lease, else 0.
if redis.replicate_commands then
  redis.replicate_commands() -- Redis before 5 repeats the script at a restart, and starts the expiry anew
end
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
end
return 0

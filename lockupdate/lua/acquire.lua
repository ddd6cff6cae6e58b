-- Take the lock, or find it taken by ourselves.
--
-- KEYS[1]  the lock: a hash with one field, the owner, whose value is the hold count
-- ARGV[1]  the owner that asks
-- ARGV[2]  the lease in milliseconds
--
-- Returns {1, 0} if the lock is now ours: it was free, or an earlier call of the
--         same owner took it and its reply was lost.
--         {0, PTTL} if another owner holds it (PTTL -1: without expiry).
--         {2, TYPE} if something that is not a lock has its name.
--         {3, error} if the server would not set the expiry: then nothing is left,
--         because a lock without one would outlive us.
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' or (kind == 'hash' and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1) then
  redis.call('HSET', KEYS[1], ARGV[1], '1')
  local set = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
  if type(set) == 'table' and set.err then
    redis.call('DEL', KEYS[1])
    return {3, set.err}
  end
  return {1, 0}
end
if kind ~= 'hash' then
  return {2, kind}
end
return {0, redis.call('PTTL', KEYS[1])}

-- Take the lock. A retry by the same owner succeeds.
--
-- KEYS[1]  the lock: a hash of the owner and its hold count, and an optional hint of
--          waiters, 'unwatch-waiting': the milliseconds within which the slowest waiter
--          polls again
-- ARGV[1]  the owner
-- ARGV[2]  the lease in milliseconds
-- ARGV[3]  the hint to set if another owner holds the lock; '0' sets none
-- ARGV[4]  the previous owner, of the same process, whose release is in flight; or ''
--
-- Returns 1 if the owner now holds the lock: the lock was free, or the owner had it and
--         the first reply was lost, or the previous owner had it and no other process waits.
--         {0, PTTL, HINT} if another owner holds it. PTTL is -1 without an expiry; HINT is
--         that of other waiters, or 0.
--         {2, TYPE} if the key is not a lock.
--         {3, error} if the server refused the expiry. The lock is deleted then: without
--         an expiry it would survive a crash of its owner.
--         An error reply means that the lock was not taken.
if redis.replicate_commands then
  redis.replicate_commands() -- Redis before 5 repeats the script at a restart, and starts the expiry anew
end
local ttl = redis.call('PTTL', KEYS[1])
if ttl ~= -2 then
  local kind = redis.call('TYPE', KEYS[1]).ok
  if kind ~= 'hash' and kind ~= 'none' then
    return {2, kind}
  end
end
if ttl ~= -2 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  local holder, hint
  local fields = redis.call('HGETALL', KEYS[1])
  for i = 1, #fields, 2 do
    if fields[i] == 'unwatch-waiting' then
      hint = tonumber(fields[i + 1]) or 0
    else
      holder = fields[i]
    end
  end
  if holder == ARGV[4] and holder ~= '' and not hint then
    local gone = redis.pcall('HDEL', KEYS[1], holder)
    if type(gone) == 'table' then
      return gone
    end
    holder = nil
  end
  -- A release that deletes field by field leaves only the hint: the lock is free.
  if holder then
    -- Only an owner of lockupdate reads the hint and deletes it.
    if holder ~= ARGV[4] and tonumber(ARGV[3]) > (hint or 0) and string.sub(holder, 1, 8) == 'unwatch:' then
      local set = redis.pcall('HSET', KEYS[1], 'unwatch-waiting', ARGV[3])
      if type(set) == 'table' then
        return set
      end
    end
    return {0, ttl, hint or 0}
  end
end
local taken = redis.pcall('HSET', KEYS[1], ARGV[1], '1')
if type(taken) == 'table' then
  return taken
end
local set = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
if type(set) == 'table' and set.err then
  redis.call('DEL', KEYS[1])
  return {3, set.err}
end
return 1

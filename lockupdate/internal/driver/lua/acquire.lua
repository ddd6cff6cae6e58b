-- Take the lock, or find it taken by ourselves.
--
-- KEYS[1]  the lock: a hash of the owner and its hold count, and maybe a note that
--          others wait, 'unwatch-waiting': the milliseconds after which the slowest
--          of them will have asked again
-- ARGV[1]  the owner that asks
-- ARGV[2]  the lease in milliseconds
-- ARGV[3]  what to note if the lock is another's; '0' for no note
-- ARGV[4]  the owner before us, of the same process, whose release is on its way; or ''
--
-- Returns 1 if the lock is now ours: it was free; or an earlier call of the
--         same owner took it and its reply was lost; or it was still of the owner
--         before us, and no other process waits for it.
--         {0, PTTL, NOTE} if another owner holds it (PTTL -1: without expiry; NOTE: that
--         of the other waiters, or 0).
--         {2, TYPE} if something that is not a lock has its name.
--         {3, error} if the server would not set the expiry: then nothing is left,
--         because a lock without one would outlive us.
local ttl = redis.call('PTTL', KEYS[1])
if ttl ~= -2 then
  local kind = redis.call('TYPE', KEYS[1]).ok
  if kind ~= 'hash' and kind ~= 'none' then
    return {2, kind}
  end
end
if ttl ~= -2 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  local holder, note
  local fields = redis.call('HGETALL', KEYS[1])
  for i = 1, #fields, 2 do
    if fields[i] == 'unwatch-waiting' then
      note = tonumber(fields[i + 1]) or 0
    else
      holder = fields[i]
    end
  end
  if holder == ARGV[4] and not note then
    redis.call('HDEL', KEYS[1], holder)
    holder = nil
  end
  -- Without a holder, only the note is left of a lock that was given back field
  -- by field: free.
  if holder then
    -- Only a holder with our mark reads the note, and deletes it.
    if holder ~= ARGV[4] and tonumber(ARGV[3]) > (note or 0) and string.sub(holder, 1, 8) == 'unwatch:' then
      redis.call('HSET', KEYS[1], 'unwatch-waiting', ARGV[3])
    end
    return {0, ttl, note or 0}
  end
end
redis.call('HSET', KEYS[1], ARGV[1], '1')
local set = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
if type(set) == 'table' and set.err then
  redis.call('DEL', KEYS[1])
  return {3, set.err}
end
return 1

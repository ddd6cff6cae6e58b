-- Change a hash only if the fields that fn depended on are unchanged, and write only the
-- fields that fn changed. This is the guard, on which the safety of an update depends.
--
-- KEYS[1]  the data key
-- ARGV[1]  the expiry to set: milliseconds, 'keep' or 'none'
-- ARGV[2]  the number of fields that fn received, 0 for an absent key
-- ARGV[3]  the number of fields in fn's read set, -1 if fn depends on the whole hash
-- ARGV[4]  the number of absent fields that fn looked up
-- ARGV[5]  the number of received fields sent: all, or those of the read set
-- ARGV[6]  the number of fields to set, -1 to delete the whole key
-- ARGV[7]  the number of fields to delete
-- ARGV[8…] the received fields with their values, the read set first; the names of the
--          absent fields; the fields to set with their values; the names of the fields
--          to delete
--
-- Returns 1 if written.
--         {3, field, value, ...} if written and the previous hash differs from the sent
--         one outside the read set; the previous hash follows.
--         {0, field, value, ...} if a field that fn depends on differs; the stored hash
--         follows. Transactions that watch the key fail.
--         {2, TYPE} if the key is not a hash.
--         An error reply as the server gives it, without a place in this script, if a read
--         or the first write failed. Nothing is written.
if redis.replicate_commands then
  redis.replicate_commands() -- Redis before 5 repeats the script at a restart, and starts the expiry anew
end
local failed -- the error of a read
local function ask(reply)
  if type(reply) == 'table' and reply.err then
    failed = failed or reply
  end
  return reply
end
-- Returns the error of a write if it is the first one. The error of a later one ends the
-- script, with a text that shows it.
local wrote = false
local function refused(reply)
  if type(reply) == 'table' and reply.err then
    if wrote then
      error('after a write: ' .. reply.err)
    end
    return reply
  end
  wrote = true
end
local function answer(status, fields)
  local reply = {status}
  for i, v in ipairs(fields) do
    reply[i + 1] = v
  end
  return reply
end
local function refuse(fields)
  -- Abort the transactions that watch the key: each began before fn runs again. The
  -- expiry stays the same; before Redis 7, it may end a millisecond later.
  local ttl = ask(redis.pcall('PTTL', KEYS[1]))
  if failed then
    return failed
  end
  if ttl > 0 then
    redis.pcall('PEXPIRE', KEYS[1], ttl)
  elseif ttl == -1 and redis.pcall('PERSIST', KEYS[1]) == 0 then
    redis.pcall('PEXPIRE', KEYS[1], '86400000')
    redis.pcall('PERSIST', KEYS[1])
  end
  return answer(0, fields)
end
local given, read, missed = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local sent, sets, dels = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local now -- all fields if all were sent, else their number
if sent == given then
  now = redis.pcall('HGETALL', KEYS[1])
else
  now = redis.pcall('HLEN', KEYS[1])
end
if type(now) == 'table' and now.err then -- most likely WRONGTYPE
  local kind = redis.pcall('TYPE', KEYS[1]).ok
  if not kind or kind == 'none' or kind == 'hash' then
    return now
  end
  return {2, kind}
end
local at = 8
local reply = 1
if sent < given then
  -- One field outside the read set must remain, for the reason below. HLEN also counts
  -- fields that have expired, which matters if fn leaves no field.
  if sets == 0 and dels > 0 then
    now = #ask(redis.pcall('HGETALL', KEYS[1])) / 2
  end
  local same = now > read
  for i = at, at + 2 * sent - 1, 2 do
    same = same and ask(redis.pcall('HMGET', KEYS[1], ARGV[i]))[1] == ARGV[i + 1]
  end
  at = at + 2 * sent
  for i = at, at + missed - 1 do
    same = same and ask(redis.pcall('HEXISTS', KEYS[1], ARGV[i])) == 0
  end
  at = at + missed
  if not same then
    return refuse(ask(redis.pcall('HGETALL', KEYS[1])))
  end
else
  local value = {}
  for i = 1, #now, 2 do
    value[now[i]] = now[i + 1]
  end
  local same = 0 -- the number of leading fields that are unchanged
  while same < given and value[ARGV[at + 2 * same]] == ARGV[at + 2 * same + 1] do
    same = same + 1
  end
  at = at + 2 * given
  if same < given or #now ~= 2 * given then
    -- If fn received fields outside its read set, the hash must still hold one of these:
    -- fn may delete all that it read, and did not mean to delete the key.
    if read < 0 or same < read or #now == 0 or given > read and #now <= 2 * read then
      return refuse(now)
    end
    for i = at, at + missed - 1 do
      if value[ARGV[i]] then
        return refuse(now)
      end
    end
    reply = answer(3, now)
  end
  at = at + missed
end
local problem
if sets < 0 then
  problem = refused(redis.pcall('DEL', KEYS[1]))
  return problem or 1
end
for i = at, at + 2 * sets - 1, 2 do
  problem = refused(redis.pcall('HSET', KEYS[1], ARGV[i], ARGV[i + 1]))
  if problem then
    return problem
  end
end
at = at + 2 * sets
for i = at, at + dels - 1 do
  problem = refused(redis.pcall('HDEL', KEYS[1], ARGV[i]))
  if problem then
    return problem
  end
end
if ARGV[1] == 'none' then
  problem = refused(redis.pcall('PERSIST', KEYS[1]))
elseif ARGV[1] ~= 'keep' then
  problem = refused(redis.pcall('PEXPIRE', KEYS[1], ARGV[1]))
end
return problem or reply

-- Change a hash if, and only if, it still holds what fn went by, and write only what fn
-- changed. See commit_string.lua for why this is the guard.
--
-- KEYS[1]  the data key
-- ARGV[1]  the expiry to leave: milliseconds, 'keep' or 'none'
-- ARGV[2]  how many fields fn was given, 0 for an absent key
-- ARGV[3]  how many of these fn has read, -1 if it went by all there is
-- ARGV[4]  how many fields fn has missed
-- ARGV[5]  how many of the fields it was given follow: all, or those it has read
-- ARGV[6]  how many fields to set, -1 to delete the whole key
-- ARGV[7]  how many fields to delete
-- ARGV[8…] the fields fn was given with their values, those it has read first, then the
--          names of those it has missed, then the fields to set with their values, then
--          the names of the fields to delete
--
-- Returns 1 if written.
--         {3, field, value, ...} if written, with what the key held if fn was given
--         other values of fields that it has not read, and these were sent.
--         {0, field, value, ...} with what the key holds if that is something else. Then
--         transactions that watch the key fail.
--         {2, TYPE} if the key is not a hash.
local function answer(status, fields)
  local reply = {status}
  for i, v in ipairs(fields) do
    reply[i + 1] = v
  end
  return reply
end
local function refuse(fields)
  -- Break the transactions that watch the key, as in commit_string.lua.
  local ttl = redis.call('PTTL', KEYS[1])
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
local now -- all fields if they are compared, else their number
if sent == given then
  now = redis.pcall('HGETALL', KEYS[1])
else
  now = redis.pcall('HLEN', KEYS[1])
end
if type(now) == 'table' and now.err then -- most likely about the type
  local kind = redis.call('TYPE', KEYS[1]).ok
  if kind == 'none' or kind == 'hash' then
    return now
  end
  return {2, kind}
end
local at = 8
local reply = 1
if sent < given then
  -- See below for why one field more must be left. An empty hash has none of these.
  local same = now > read
  for i = at, at + 2 * sent - 1, 2 do
    same = same and redis.call('HMGET', KEYS[1], ARGV[i])[1] == ARGV[i + 1]
  end
  at = at + 2 * sent
  for i = at, at + missed - 1 do
    same = same and redis.call('HEXISTS', KEYS[1], ARGV[i]) == 0
  end
  at = at + missed
  if not same then
    return refuse(redis.call('HGETALL', KEYS[1]))
  end
else
  local value = {}
  for i = 1, #now, 2 do
    value[now[i]] = now[i + 1]
  end
  local same = 0 -- as many fields, from the first on, are as they were
  while same < given and value[ARGV[at + 2 * same]] == ARGV[at + 2 * same + 1] do
    same = same + 1
  end
  at = at + 2 * given
  if same < given or #now ~= 2 * given then
    -- Where fn was given fields that it has not read, what it made of the hash was never
    -- empty without its doing: one such field must be left.
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
if sets < 0 then
  redis.call('DEL', KEYS[1])
  return 1
end
for i = at, at + 2 * sets - 1, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
end
at = at + 2 * sets
for i = at, at + dels - 1 do
  redis.call('HDEL', KEYS[1], ARGV[i])
end
if ARGV[1] == 'none' then
  redis.call('PERSIST', KEYS[1])
elseif ARGV[1] ~= 'keep' then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return reply

-- Change a hash if, and only if, it still holds just the fields fn was given, and
-- write only what fn changed. See commit_string.lua for why this is the guard.
--
-- KEYS[1]  the data key
-- ARGV[1]  the expiry to leave: milliseconds, 'keep' or 'none'
-- ARGV[2]  how many fields fn was given, 0 for an absent key, -1 for no guard
-- ARGV[3]  how many fields to set, -1 to delete the whole key
-- ARGV[4]  how many fields to delete
-- ARGV[5…] the fields fn was given with their values, then the fields to set with
--          their values, then the names of the fields to delete
--
-- Returns 1 if written.
--         {0, field, value, ...} with what the key holds if that is something else.
--         {2, TYPE} if the key is not a hash.
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'none' and kind ~= 'hash' then
  return {2, kind}
end
local given, sets, dels = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local at = 5
if given >= 0 then
  local now = redis.call('HGETALL', KEYS[1])
  local same = #now == 2 * given
  if same then
    local value = {}
    for i = 1, #now, 2 do
      value[now[i]] = now[i + 1]
    end
    for i = at, at + 2 * given - 1, 2 do
      if value[ARGV[i]] ~= ARGV[i + 1] then
        same = false
        break
      end
    end
  end
  if not same then
    local reply = {0}
    for i, v in ipairs(now) do
      reply[i + 1] = v
    end
    return reply
  end
  at = at + 2 * given
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
return 1

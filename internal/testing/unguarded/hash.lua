-- commit_hash.lua of lockupdate without its guard: it takes the same arguments, skips the
-- fields to compare, and writes whatever the key holds.
if redis.replicate_commands then
  redis.replicate_commands()
end
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'none' and kind ~= 'hash' then
  return {2, kind}
end
local missing, sent = tonumber(ARGV[4]), tonumber(ARGV[5])
local sets, dels = tonumber(ARGV[6]), tonumber(ARGV[7])
if sets < 0 then
  redis.call('DEL', KEYS[1])
  return 1
end
local at = 8 + 2 * sent + missing
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

-- commit_string.lua of lockupdate without its guard: it takes the same arguments, and
-- writes whatever the key holds.
if redis.replicate_commands then
  redis.replicate_commands()
end
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'none' and kind ~= 'string' then
  return {2, kind}
end
if ARGV[1] == 'del' then
  redis.call('DEL', KEYS[1])
  return 1
end
local ttl = ARGV[1]
if ttl == 'keep' or ttl == 'keepttl' then
  ttl = redis.call('PTTL', KEYS[1])
  if ttl < 0 then
    ttl = 'none'
  elseif ttl == 0 then
    ttl = 1
  end
end
if ttl == 'none' then
  redis.call('SET', KEYS[1], ARGV[4])
else
  redis.call('SET', KEYS[1], ARGV[4], 'PX', ttl)
end
return 1

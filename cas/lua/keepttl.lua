-- Set a string and keep its expiry, for a server without SET … KEEPTTL: Redis before 6. It
-- runs in the transaction. An expiry that was read earlier would drift with each update.
--
-- KEYS[1]  the data key
-- ARGV[1]  the value
-- ARGV[2]  1 if the key had a value, else 0
--
-- Returns OK, or 0 if the key has expired, which EXEC does not notice before Redis 6.0.9; or the error of a command
--         as it is, which proves that nothing was written.
if redis.replicate_commands then
  redis.replicate_commands() -- Redis before 5 repeats the script at a restart, and starts the expiry anew
end
local ttl = redis.pcall('PTTL', KEYS[1])
if type(ttl) == 'table' then
  return ttl
end
if ttl == -2 and ARGV[2] == '1' then
  return 0
end
if ttl < 0 then
  return redis.pcall('SET', KEYS[1], ARGV[1])
end
return redis.pcall('SET', KEYS[1], ARGV[1], 'PX', math.max(ttl, 1))

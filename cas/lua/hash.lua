-- Change a hash if all fields that fn received are still there, for a server whose fields expire. WATCH does not notice a
-- field that has expired and is not yet deleted. It runs in the transaction, and EXEC has noticed all other changes.
--
-- KEYS[1]  the data key
-- ARGV[1]  the number of fields that fn received, 0 for an absent key
-- ARGV[2]  the expiry to set: milliseconds, 'keep' or 'none'
-- ARGV[3]  the number of fields to set, -1 to delete the whole key
-- ARGV[4…] the fields to set with their values, then the names of the fields to delete
--
-- Returns 1 if written, 0 if a field has expired.
if redis.replicate_commands then
  redis.replicate_commands() -- Redis before 5 repeats the script at a restart, and starts the expiry anew
end
if #redis.call('HKEYS', KEYS[1]) ~= tonumber(ARGV[1]) then -- HLEN also counts fields that have expired
  return 0
end
local sets = tonumber(ARGV[3])
if sets < 0 or ARGV[1] == '0' then
  redis.call('DEL', KEYS[1]) -- of an absent hash, expired fields and the expiry of the key may be left
end
if sets < 0 then
  return 1
end
local at = 4
for i = at, at + 2 * sets - 1, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
end
for i = at + 2 * sets, #ARGV do
  redis.call('HDEL', KEYS[1], ARGV[i])
end
if ARGV[2] == 'none' then
  redis.call('PERSIST', KEYS[1])
elseif ARGV[2] ~= 'keep' then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1

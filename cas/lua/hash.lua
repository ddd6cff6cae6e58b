-- Change a hash if all fields that fn received are still there, for a server whose fields expire. WATCH does not notice a
-- field that has expired and is not yet deleted. It runs in the transaction, and EXEC has noticed all other changes.
--
-- KEYS[1]  the data key
-- ARGV[1]  the number of fields that fn received, 0 for an absent key
-- ARGV[2]  the expiry to set: milliseconds, 'keep' or 'none'
-- ARGV[3]  the number of fields to set, -1 to delete the whole key
-- ARGV[4…] the fields to set with their values, then the names of the fields to delete
--
-- Returns 1 if written, 0 if a field has expired; or the error of the read or of the first write as it is, which
--         proves that nothing was written.
if redis.replicate_commands then
  redis.replicate_commands() -- Redis before 5 repeats the script at a restart, and starts the expiry anew
end
local names = redis.pcall('HKEYS', KEYS[1]) -- HLEN also counts fields that have expired
if names.err then
  return names
end
if #names ~= tonumber(ARGV[1]) then
  return 0
end
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
local sets, problem = tonumber(ARGV[3]), nil
if sets < 0 or ARGV[1] == '0' then
  -- Of an absent hash, expired fields and the expiry of the key may be left.
  problem = refused(redis.pcall('DEL', KEYS[1]))
end
if sets < 0 then
  return problem or 1
end
local at = 4
for i = at, at + 2 * sets - 1, 2 do
  problem = problem or refused(redis.pcall('HSET', KEYS[1], ARGV[i], ARGV[i + 1]))
end
for i = at + 2 * sets, #ARGV do
  problem = problem or refused(redis.pcall('HDEL', KEYS[1], ARGV[i]))
end
if ARGV[2] == 'none' then
  problem = problem or refused(redis.pcall('PERSIST', KEYS[1]))
elseif ARGV[2] ~= 'keep' then
  problem = problem or refused(redis.pcall('PEXPIRE', KEYS[1], ARGV[2]))
end
return problem or 1

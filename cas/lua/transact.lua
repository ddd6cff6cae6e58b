-- Write several keys if all values that fn received are still there, for a server whose fields expire, or without SET …
-- KEEPTTL. WATCH does not notice a field that has expired and is not yet deleted, and a transaction does not end at a
-- command that fails. It runs in the transaction, and EXEC has noticed all other changes.
--
-- KEYS     the data keys, then the key of the decision
-- ARGV[1]  the id to set the decision to, or '' to write nothing
-- ARGV[2]  the milliseconds that the decision lives
-- ARGV[3…] for each data key: 'hash' or 'string'; the number of fields that fn received, or of strings; the expiry to set,
--          milliseconds, 'keep' or 'none'; how many values to set, -1 to delete the key; how many fields to delete;
--          the fields to set with their values, or the string; the names of the fields to delete
--
-- Returns 1 if all was written, 0 if a value or a field has expired; or the error of a read or of the first write as it
--         is, or that of a right that is missing: then nothing was written.
if redis.replicate_commands then
  redis.replicate_commands() -- Redis before 5 repeats the script at a restart, and starts the expiry anew
end
local commands, at = {}, 3
local function add(...)
  commands[#commands + 1] = {...}
end
for i = 1, #KEYS - 1 do
  local key, kind, had, expiry, sets, dels = KEYS[i], ARGV[at], ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  at = at + 5
  if kind == 'hash' then
    local names = redis.pcall('HKEYS', key) -- HLEN also counts fields that have expired
    if names.err then
      return names
    end
    if #names ~= tonumber(had) then
      return 0
    end
    if sets < 0 or had == '0' and sets > 0 then
      -- Of an absent hash, expired fields and the expiry of the key may be left.
      add('DEL', key)
    end
    for j = at, at + 2 * sets - 1, 2 do
      add('HSET', key, ARGV[j], ARGV[j + 1])
    end
    at = at + 2 * math.max(sets, 0)
    for j = at, at + dels - 1 do
      add('HDEL', key, ARGV[j])
    end
    at = at + dels
    if sets >= 0 and expiry == 'none' then
      add('PERSIST', key)
    elseif sets >= 0 and expiry ~= 'keep' then
      add('PEXPIRE', key, expiry)
    end
  else
    local ttl = redis.pcall('PTTL', key)
    if type(ttl) == 'table' then
      return ttl
    end
    if ttl == -2 and had == '1' then
      return 0
    end
    if sets < 0 then
      add('DEL', key)
    elseif sets > 0 then
      if expiry == 'keep' and ttl >= 0 then
        expiry = math.max(ttl, 1)
      end
      if expiry == 'keep' or expiry == 'none' then
        add('SET', key, ARGV[at])
      else
        add('SET', key, ARGV[at], 'PX', expiry)
      end
      at = at + 1
    end
  end
end
if ARGV[1] == '' then
  return 1
end
add('SET', KEYS[#KEYS], ARGV[1], 'PX', ARGV[2])

-- A right that is missing must show before the first write. Each command needs it for its key.
local permitted = {}
for _, command in ipairs(redis.acl_check_cmd and commands or {}) do
  local right = command[1] .. ' ' .. command[2]
  if not permitted[right] and not redis.acl_check_cmd(unpack(command)) then
    return redis.error_reply('NOPERM this user has no permissions to run the ' .. string.lower(command[1]) .. ' command on a key of the update')
  end
  permitted[right] = true
end
for i, command in ipairs(commands) do
  local reply = redis.pcall(unpack(command))
  if type(reply) == 'table' and reply.err then
    if i > 1 then
      error('after a write: ' .. reply.err)
    end
    return reply
  end
end
return 1

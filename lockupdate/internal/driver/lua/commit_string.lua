-- Write a string only if the key still holds the value that fn received. This is the
-- guard, on which the safety of an update depends. It uses one key only, so no proxy and
-- no slot migration can separate the check from the write.
--
-- KEYS[1]  the data key
-- ARGV[1]  the expiry to set: milliseconds, 'none', 'keepttl', or 'keep' for a server
--          without KEEPTTL; or 'del' to delete the key
-- ARGV[2]  the form of ARGV[3]: 'absent', 'value' or 'sha1'
-- ARGV[3]  the value that fn received, or its SHA-1 in hexadecimal
-- ARGV[4]  the value to write
--
-- Returns 1 if written.
--         {5} if written by a server without KEEPTTL.
--         {0} if the key is absent, {0, value} if it holds another value. Transactions
--         that watch the key fail.
--         {2, TYPE} if the key is not a string.
--         {4, error} if the key cannot be read, as when an ACL forbids GET. Nothing is written.
--         An error reply as the server gives it, without a place in this script: the same.
if redis.replicate_commands then
  redis.replicate_commands() -- Redis before 5 repeats the script at a restart, and starts the expiry anew
end
local now = redis.pcall('GET', KEYS[1])
if now ~= ARGV[3] or ARGV[2] ~= 'value' then
  if type(now) == 'table' then -- an error, most likely WRONGTYPE
    local kind = redis.pcall('TYPE', KEYS[1]).ok
    if not kind or kind == 'string' or kind == 'none' then
      return {4, now.err}
    end
    return {2, kind}
  end
  if not (ARGV[2] == 'absent' and not now or ARGV[2] == 'sha1' and now and redis.sha1hex(now) == ARGV[3]) then
    -- Abort the transactions that watch the key: each began before fn runs again. The
    -- expiry stays the same; before Redis 7, it may end a millisecond later.
    local ttl = redis.pcall('PTTL', KEYS[1])
    if type(ttl) == 'table' then
      return ttl
    end
    if ttl > 0 then
      redis.pcall('PEXPIRE', KEYS[1], ttl)
    elseif ttl == -1 and redis.pcall('PERSIST', KEYS[1]) == 0 then -- 0: no expiry to remove, and the ACL permits PERSIST
      redis.pcall('PEXPIRE', KEYS[1], '86400000')
      redis.pcall('PERSIST', KEYS[1])
    end
    return {0, now or nil}
  end
end
local ttl = ARGV[1]
local reply = 1
if ttl == 'del' then
  local gone = redis.pcall('DEL', KEYS[1])
  return type(gone) == 'table' and gone or 1
end
if ttl == 'keepttl' then
  -- Redis before 6 rejects KEEPTTL. Any other error occurs again below.
  if not redis.pcall('SET', KEYS[1], ARGV[4], 'KEEPTTL').err then
    return 1
  end
  ttl, reply = 'keep', {5}
end
if ttl == 'keep' then
  ttl = redis.pcall('PTTL', KEYS[1])
  if type(ttl) == 'table' then
    return ttl
  elseif ttl < 0 then
    ttl = 'none'
  elseif ttl == 0 then
    ttl = 1
  end
end
local set
if ttl == 'none' then
  set = redis.pcall('SET', KEYS[1], ARGV[4])
else
  set = redis.pcall('SET', KEYS[1], ARGV[4], 'PX', ttl)
end
return set.err and set or reply

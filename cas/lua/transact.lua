-- Write several keys if each one is still there as fn received it. It runs in the transaction, and EXEC has noticed all
-- changes but a key or field that has expired and is not yet deleted.
--
-- KEYS[1…]  the data keys, then the key of the decision
-- ARGV[1]   the id of the update
-- ARGV[2]   how long the decision is kept, in milliseconds
-- ARGV[3…]  for each data key: 'string' or 'hash'; 1 if fn received a string, the number of fields of a hash, 0 for an
--           absent key; 'keep' or 'del', or 'set' with the expiry (milliseconds, 'keep' or 'none'), the number of
--           elements of the value to set, those, the number of fields to delete, those
--
-- Returns 1 if written, 0 if something has expired; or the error of a read or of the first write as it is, which proves
--         that nothing was written.
if redis.replicate_commands then
  redis.replicate_commands() -- Redis before 5 repeats the script at a restart, and starts the expiry anew
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
local at = 3
local function take(n)
  local list = {}
  for i = 1, n do
    list[i] = ARGV[at]
    at = at + 1
  end
  return list
end
local writes = {}
for i = 1, #KEYS - 1 do
  local kind, count, how = unpack(take(3))
  local now, ttl = 0, redis.pcall('PTTL', KEYS[i])
  if kind == 'hash' then
    local names = redis.pcall('HKEYS', KEYS[i]) -- HLEN also counts fields that have expired
    if names.err then
      return names
    end
    now = #names
  elseif ttl ~= -2 then
    now = redis.pcall('EXISTS', KEYS[i])
  end
  if type(ttl) == 'table' or type(now) == 'table' then
    return type(ttl) == 'table' and ttl or now
  end
  if now ~= tonumber(count) then
    return 0
  end
  local w = {key = KEYS[i], how = how, kind = kind, fresh = count == '0'}
  if how == 'set' then
    w.expiry = take(1)[1]
    w.set = take(tonumber(take(1)[1]))
    w.del = take(tonumber(take(1)[1]))
    if w.expiry == 'keep' and ttl >= 0 and kind == 'string' then
      w.expiry = math.max(ttl, 1)
    end
  end
  writes[i] = w
end
local problem
for _, w in ipairs(writes) do
  if w.how == 'del' or w.how == 'set' and w.kind == 'hash' and w.fresh then
    problem = problem or refused(redis.pcall('DEL', w.key))
  end
  if w.how == 'set' and w.kind == 'string' then
    if w.expiry == 'none' or w.expiry == 'keep' then
      problem = problem or refused(redis.pcall('SET', w.key, w.set[1]))
    else
      problem = problem or refused(redis.pcall('SET', w.key, w.set[1], 'PX', w.expiry))
    end
  elseif w.how == 'set' then
    for i = 1, #w.set, 2 do
      problem = problem or refused(redis.pcall('HSET', w.key, w.set[i], w.set[i + 1]))
    end
    for _, field in ipairs(w.del) do
      problem = problem or refused(redis.pcall('HDEL', w.key, field))
    end
    if w.expiry == 'none' then
      problem = problem or refused(redis.pcall('PERSIST', w.key))
    elseif w.expiry ~= 'keep' then
      problem = problem or refused(redis.pcall('PEXPIRE', w.key, w.expiry))
    end
  end
  if problem then
    return problem
  end
end
return refused(redis.pcall('SET', KEYS[#KEYS], ARGV[1], 'PX', ARGV[2])) or 1

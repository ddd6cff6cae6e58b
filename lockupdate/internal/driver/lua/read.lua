-- Read a value, from the master. A proxy may send GET and HGETALL to a replica, but
-- not a script.
--
-- KEYS[1]  the data key
-- ARGV[1]  the expected type, 'string' or 'hash'
--
-- Returns the value, or nil; for a hash field, value, ..., empty if the key is absent.
--         {TYPE} if the key has another type, {'moved'} if it has the marker of a move;
--         {'none'} if the key is absent and the read fails.
local value
if ARGV[1] == 'string' then
  value = redis.pcall('GET', KEYS[1])
else
  value = redis.pcall('HGETALL', KEYS[1])
end
if type(value) == 'table' and value.err then -- most likely WRONGTYPE
  local kind = redis.call('TYPE', KEYS[1]).ok
  if kind ~= ARGV[1] then
    if kind == 'list' then
      local head = redis.pcall('LRANGE', KEYS[1], 0, 1)
      if head[1] == '~unwatch:9f2c4e7b' and (head[2] == 'sealed' or head[2] == 'away') then
        return {'moved'}
      end
    end
    return {kind}
  end
end
return value

-- Read a value, from the master: a proxy may serve GET and HGETALL from a replica,
-- but not a script.
--
-- KEYS[1]  the data key
--
-- Returns {'none'}, {'string', value}, {'hash', field, value, ...}, or {TYPE} for
--         any other type.
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'string' then
  return {kind, redis.call('GET', KEYS[1])}
end
local reply = {kind}
if kind == 'hash' then
  for i, v in ipairs(redis.call('HGETALL', KEYS[1])) do
    reply[i + 1] = v
  end
end
return reply

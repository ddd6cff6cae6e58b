-- Look at a key that may have a seal or a marker. It changes nothing.
--
-- KEYS[1]  the data key
--
-- Returns {'open', TYPE}, TYPE 'none' if the key is absent;
--         {state, nonce, key of the decision, TYPE, ms to live or -1, value...} of a seal or a marker.
local magic = '~unwatch:9f2c4e7b'
if redis.replicate_commands then
  redis.replicate_commands()
end
local kind = redis.call('TYPE', KEYS[1]).ok
local seal = kind == 'list' and redis.call('LRANGE', KEYS[1], 0, -1)
if not seal or seal[1] ~= magic then
  return {'open', kind}
end
local left = tonumber(seal[6] or '') or -1
if left >= 0 then
  local now = redis.call('TIME')
  left = math.max(0, left - (now[1] * 1000 + math.floor(now[2] / 1000) - (tonumber(seal[7] or '') or 0)))
end
local reply = {seal[2] or '', seal[3] or '', seal[4] or '', seal[5] or '', left}
for i = 8, #seal do
  reply[i - 2] = seal[i]
end
return reply

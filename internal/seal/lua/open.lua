-- Open a key that was taken for an update of several keys: replace the seal by a value. Another seal, or anything
-- else, stays as it is, so that this may be sent again, by any process, at any time.
--
-- KEYS[1]  the data key
-- ARGV[1]  the nonce of the seal
-- ARGV[2]  the slot of the key in a Redis Cluster
-- ARGV[3]  the new value's type: 'string', 'hash', 'none', or 'base' for the value that the seal has
-- ARGV[4]  its expiry: milliseconds, 'keep' or 'none'
-- ARGV[5…] the value: a string, or fields and values
--
-- Returns 1 if the seal was there, 0 if not, 3 if a Redis Cluster moves the slot, so that the hash cannot be written.
--         After an error reply nothing was written.
local magic = '~unwatch:9f2c4e7b'
if redis.replicate_commands then
  redis.replicate_commands() -- Redis before 5 refuses a write after TIME otherwise
end
local base = ARGV[3] == 'base'
local seal = redis.pcall('LRANGE', KEYS[1], 0, base and -1 or 6)
if seal.err then
  return string.find(seal.err, 'WRONGTYPE', 1, true) and 0 or seal
end
if seal[1] ~= magic or seal[2] ~= 'tx' or seal[3] ~= ARGV[1] then
  return 0
end
local kind, value, first = ARGV[3], ARGV, 5
if base then
  kind, value, first = seal[5], seal, 8
end

-- The milliseconds that the value has left, or -1.
local left = -1
if base or ARGV[4] == 'keep' then
  if seal[6] ~= '-1' then
    local now = redis.pcall('TIME')
    if now.err then
      return now
    end
    left = math.max(0, seal[6] - (now[1] * 1000 + math.floor(now[2] / 1000) - seal[7]))
  end
elseif ARGV[4] ~= 'none' then
  left = tonumber(ARGV[4])
end

-- The first write, which fails if it may not be done.
local done
if kind == 'none' or left == 0 then -- what kept the expiry has expired
  done = redis.pcall('DEL', KEYS[1])
elseif kind == 'string' and left > 0 then
  done = redis.pcall('SET', KEYS[1], value[first], 'PX', string.format('%.0f', left))
elseif kind == 'string' then
  done = redis.pcall('SET', KEYS[1], value[first])
else
  done = redis.pcall('HMSET', KEYS[1], 'field', 'value')
end
local text = type(done) == 'table' and done.err or ''
local full = string.find(text, 'OOM command', 1, true) -- it permits DEL, and then any write of this script
if full or string.find(text, 'WRONGTYPE', 1, true) then
  done = redis.pcall('CLUSTER', 'NODES') -- see take.lua
  if type(done) == 'string' then
    if string.find(done, '[' .. ARGV[2] .. '-', 1, true) then
      return 3
    end
  else
    text = string.lower(done.err)
    if not string.find(text, 'cluster support disabled', 1, true) and not string.find(text, 'unknown', 1, true) then
      return done
    end
  end
  done = nil
  if left > 0 then
    done = redis.pcall('PEXPIRE', KEYS[1], '86400000')
    if type(done) == 'table' then
      return done
    end
  end
  redis.call('DEL', KEYS[1])
  if kind == 'string' then
    redis.call('SET', KEYS[1], value[first])
  else
    for i = first, #value, 1000 do
      redis.call('HMSET', KEYS[1], unpack(value, i, math.min(i + 999, #value)))
    end
  end
  if left > 0 then
    redis.call('PEXPIRE', KEYS[1], string.format('%.0f', left))
  end
end
return type(done) == 'table' and done.err and done or 1

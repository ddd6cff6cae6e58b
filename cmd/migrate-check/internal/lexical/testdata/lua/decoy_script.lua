-- redis.call('publish', 'a', 'b')
local n = redis.call('INCRBY', KEYS[1], ARGV[1])
local text = "redis.call('keys', '*')"
local long = [==[
redis.call('publish', 'a', 'b') ]]
]==]
--[[
redis.call('keys', '*')
]]
if n > tonumber(ARGV[2]) then
  redis.call('SET', KEYS[1], ARGV[2])
end
return n

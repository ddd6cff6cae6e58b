-- redis.call('publish', 'a', 'b')
local value = redis.call('GET', KEYS[1])
local text = [[redis.call('publish', 'a', 'b')]]
if value then
  redis.call('PUBLISH', 'stock', value) -- want MC504
  redis.call('SET', 'stock:' .. ARGV[1], value) -- want MC503
end
redis.call('DEL', KEYS[2]) -- want MC501
return value

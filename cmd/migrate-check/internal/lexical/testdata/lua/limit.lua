-- A limiter, as it is sent with EVAL.
local key = KEYS[1]
local now = redis.call('TIME')
local names = redis.call("KEYS", "limit:*") -- want MC504
local count = tonumber(redis.call('INCR', key))
if count == 1 then
  redis.call('EXPIRE', key, ARGV[1])
end
redis.pcall('publish', "limits", key) -- want MC504
local other = redis.call('HGET', ARGV[2], 'max') -- want MC503
redis.call('HSET', KEYS[2], 'seen', now[1]) -- want MC501
redis.call('RENAME', KEYS[1], KEYS[3]) -- want MC501
redis.call('SUBSCRIBE', 'x') -- want MC504
redis.call('WATCH', key) -- want MC504
redis.call('MULTI') -- want MC504
--[==[ redis.call('publish', 'x', 'y') ]==]
return { count, other, names }

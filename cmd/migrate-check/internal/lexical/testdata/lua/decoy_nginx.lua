local redis = require "resty.redis"
local red = redis:new()
red:get("a")
ngx.say("redis.call('publish')")

{{ header }}
redis.call('publish', '{{ channel }}', ARGV[1]) -- want MC504
redis.call('get', KEYS[1])
redis.call("scan", 0) -- want MC504

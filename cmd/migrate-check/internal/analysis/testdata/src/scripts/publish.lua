redis.call("SET", KEYS[1], ARGV[1])
redis.call("PUBLISH", "changes", KEYS[1])

package com.example;

import java.util.Set;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.RedisTemplate;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;

class Jobs extends Base {
    @Resource(name = "jobs")
    private RedisTemplate redisTemplate;
    @Autowired
    JedisPool pool;

    void run() {
        Jedis jedis = null;
        try {
            jedis = pool.getResource();
            for (String key : jedis.keys("job:*")) { // want MC401
                jedis.del(key);
            }
            new Thread(() -> jedis.subscribe(new Listener(), "jobs")).start(); // want MC201
        } finally {
            if (jedis != null) {
                jedis.close();
            }
        }
        new Jedis("localhost").publish("a", "b"); // want MC202
        redisTemplate.execute((RedisCallback) c -> c.keys("x")); // want MC401
        redisTemplate.delete(redisTemplate.keys("b")); // want MC401
        if (redisTemplate.renameIfAbsent("a", "b")) { // want MC401
            return;
        }
        with(jedis2 -> jedis2.get("a"));
    }
}

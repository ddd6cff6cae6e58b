package com.example.shop;

import java.util.List;
import java.util.Set;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.core.*;
import org.springframework.data.redis.listener.PatternTopic;
import org.springframework.data.redis.listener.RedisMessageListenerContainer;
import org.springframework.stereotype.Service;

@Service
public class Carts {
    private static final String PREFIX = "cart: redisTemplate.keys(\"*\")";
    @Autowired
    private StringRedisTemplate redisTemplate;
    private final RedisTemplate<String, Object> objects;

    public Carts(RedisTemplate<String, Object> objects, RedisMessageListenerContainer container) {
        this.objects = objects;
        objects.setEnableTransactionSupport(true); // want MC102
        container.addMessageListener((message, pattern) -> refresh(), new PatternTopic("__keyevent@*__:expired")); // want MC201 MC203
    }

    public boolean checkout(final String id) {
        List<Object> results = redisTemplate.execute(new SessionCallback<List<Object>>() {
            @Override
            @SuppressWarnings("unchecked")
            public List<Object> execute(RedisOperations operations) {
                operations.watch(PREFIX + id); // want MC101
                operations.multi(); // want MC102
                operations.opsForValue().set(PREFIX + id, "done");
                return operations.exec();
            }
        });
        return results != null;
    }

    public Set<String> all() {
        return redisTemplate.keys(PREFIX + "*"); // want MC401
    }

    public void announce(String id) {
        redisTemplate.convertAndSend("carts", id); // want MC202
        objects.opsForList().leftPop("jobs", 5, TimeUnit.SECONDS); // want MC301
        objects.opsForList().leftPop("jobs");
        objects.opsForValue().multiSetIfAbsent(Map.of("a", 1)); // want MC401
    }

    public Long scan() {
        return redisTemplate.execute((RedisCallback<Long>) connection -> {
            Cursor<byte[]> cursor = connection.scan(ScanOptions.NONE); // want MC401
            return connection.dbSize(); // want MC701
        });
    }

    public void piped() {
        objects.executePipelined((RedisCallback<Object>) conn -> {
            conn.set("a".getBytes(), "b".getBytes());
            return null;
        });
        RedisConnection c = redisTemplate.getConnectionFactory().getConnection();
        c.publish("a".getBytes(), "b".getBytes()); // want MC202
        c.flushDb(); // want MC701
    }
}

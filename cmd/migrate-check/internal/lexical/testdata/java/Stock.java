package com.example;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import org.redisson.Redisson;
import org.redisson.api.*;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.Transaction;

class Stock {
    private final JedisPool pool = new JedisPool("localhost");
    private RedissonClient redisson;

    boolean take(String key) {
        try (Jedis jedis = pool.getResource()) {
            jedis.watch(key); // want MC101
            Transaction t = jedis.multi(); // want MC102
            Response<Long> left = t.decr(key);
            if (t.exec() == null) {
                return false;
            }
        }
        try (var conn = pool.getResource()) {
            Pipeline p = conn.pipelined();
            p.get(key);
            p.sync();
            conn.sendCommand(Protocol.Command.MULTI); // want MC103
            conn.brpop(0, "jobs"); // want MC301
            conn.subscribe(new JedisPubSub() { // want MC201
                @Override
                public void onMessage(String channel, String message) {
                    getJedis().publish("other", message); // want MC202
                }
            }, "stock");
        }
        return true;
    }

    private Jedis getJedis() {
        return pool.getResource();
    }

    void lettuce(RedisClient client) {
        StatefulRedisConnection<String, String> connection = client.connect();
        RedisCommands<String, String> commands = connection.sync();
        commands.multi(); // want MC102
        commands.set("a", "b");
        commands.exec();
        StatefulRedisPubSubConnection<String, String> ps = client.connectPubSub();
        ps.async().psubscribe("a*"); // want MC201
        connection.async().keys("*").thenAccept(k -> {}); // want MC401
    }

    void redisson() {
        RTopic topic = redisson.getTopic("stock");
        topic.publish("x"); // want MC202
        redisson.getTopic("other").addListener(String.class, (c, m) -> {}); // want MC201
        RTransaction tx = redisson.createTransaction(TransactionOptions.defaults()); // want MC102
        tx.commit();
        redisson.<String>getBlockingQueue("q").take(); // want MC301
        Iterable<String> ks = redisson.getKeys().getKeysByPattern("a*"); // want MC401
        redisson.createBatch().execute();
    }
}

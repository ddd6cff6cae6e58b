package com.example;

import java.nio.file.WatchService;
import java.util.Map;
import java.util.concurrent.Flow;
import javax.transaction.Transaction;
import org.apache.curator.framework.CuratorFramework;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.eclipse.paho.client.mqttv3.MqttClient;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.jdbc.core.JdbcTemplate;
import reactor.core.publisher.Mono;

class DecoyOthers {
    private KafkaConsumer<String, String> consumer;
    private MqttClient client;
    private Transaction transaction;
    private StringRedisTemplate template;
    private JdbcTemplate jdbc;
    /** redisTemplate.watch("a") */
    String text = """
        template.multi();
        template.convertAndSend("a", "b");
        """;

    void run(Map<String, String> redis, CuratorFramework zk, ApplicationEventPublisher publisher, Mono<String> mono) {
        consumer.subscribe(List.of("a"));
        client.subscribe("a");
        client.publish("a", null);
        transaction.commit();
        for (String k : redis.keySet()) {
            System.out.println(k);
        }
        redis.keys();
        zk.watch("a");
        publisher.publish("a");
        mono.subscribe();
        template.opsForValue().get("a");
        template.opsForHash().keys("a");
        template.opsForHash().scan("a", ScanOptions.NONE);
        template.opsForSet().move("a", "b", "c");
        jdbc.execute("MULTI");
        // template.keys("*")
        scheduler.exec("a");
    }

    void shadow(MqttClient template) {
        template.publish("a", null);
        template.subscribe("a");
    }
}

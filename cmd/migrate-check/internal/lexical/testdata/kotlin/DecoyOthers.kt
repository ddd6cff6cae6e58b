package com.example

import io.reactivex.Observable
import kotlinx.coroutines.flow.MutableSharedFlow
import org.apache.kafka.clients.consumer.KafkaConsumer
import org.springframework.context.ApplicationEventPublisher
import org.springframework.data.redis.core.StringRedisTemplate

class Decoys(
    private val redis: StringRedisTemplate,
    private val events: ApplicationEventPublisher,
    private val consumer: KafkaConsumer<String, String>,
    private val client: MqttClient,
) {
    private val text = """redis.multi() ${"redis.watch(\"a\")"}"""
    val names = mutableMapOf<String, Int>()

    /* redis.convertAndSend("a", "b") /* nested */ */
    fun run(template: Other, observable: Observable<String>) {
        events.publish("a")
        consumer.subscribe(listOf("a"))
        client.publish("a", "b")
        client.subscribe("a")
        observable.subscribe { println(it) }
        template.multi()
        template.watch("a")
        names.keys.forEach { println(it) }
        Regex("a").exec("b")
        redis.opsForValue().get("a")
        redis.opsForHash<String, String>().keys("a")
        redis.opsForSet().scan("a", null)
        redis.delete("a")
        names.let { it.keys }
        Runtime.getRuntime().exec("ls")
    }
}

package com.example

import org.springframework.data.redis.core.ReactiveStringRedisTemplate
import org.springframework.data.redis.core.SessionCallback
import org.springframework.data.redis.core.RedisOperations
import org.springframework.data.redis.core.StringRedisTemplate
import org.springframework.data.redis.listener.RedisMessageListenerContainer
import redis.clients.jedis.JedisPool
import io.lettuce.core.RedisClient
import org.redisson.api.RedissonClient

@Service
class Rooms(
    private val template: StringRedisTemplate,
    private val reactive: ReactiveStringRedisTemplate,
    private val redisson: RedissonClient,
    url: String = "redis://localhost",
) {
    private val pool = JedisPool(url)
    private val commands by lazy { RedisClient.create(url).connect().sync() }

    fun close(id: String) {
        template.convertAndSend("rooms", "closed $id ${template.keys("room:*")}") // want MC202 MC401
        template.rename("a", "b") // want MC401
    }

    fun take(id: String): Boolean = pool.resource.use { jedis ->
        jedis.watch(id) // want MC101
        val tx = jedis.multi() // want MC102
        tx.incr(id)
        tx.exec() != null
    }

    fun it(id: String) {
        pool.resource.use { it.publish("a", id) } // want MC202
        pool.resource.use {
            it.blpop(0, "jobs") // want MC301
        }
    }

    fun session() = template.execute(object : SessionCallback<List<Any>> {
        override fun <K : Any, V : Any> execute(operations: RedisOperations<K, V>): List<Any> {
            operations.multi() // want MC102
            return operations.exec()
        }
    })

    fun listen() = reactive.listenToChannel("rooms").map { it.message } // want MC201

    fun lettuce() {
        commands.multi() // want MC102
        commands.set("a", "b")
        commands.exec()
        val n = commands.randomkey() // want MC401
    }

    fun topic() {
        redisson.getTopic("a").publish("b") // want MC202
        redisson.keys.getKeysByPattern("a*") // want MC401
    }
}

@Bean
fun container(factory: RedisConnectionFactory) = RedisMessageListenerContainer().apply {
    setConnectionFactory(factory)
}

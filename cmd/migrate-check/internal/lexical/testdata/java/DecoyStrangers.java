import redis.clients.jedis.Jedis;
import reactor.core.publisher.Flux;
class DecoyStrangers {
  private final RabbitTemplate template; private final Vertx vertx;
  void f(Jedis jedis, MqttClient client, java.util.Map<String, String> map, KafkaConsumer<String, String> consumer) {
    client.publish("a", null); client.subscribe("a");
    consumer.subscribe(List.of("a"));
    map.keySet(); new java.util.Hashtable<String, String>().keys();
    Flux.just(1).subscribe(x -> {});
    String s = """
      jedis.multi();
      """;
    path.register(fs.newWatchService()); Uni.createFrom().item(1).subscribe().with(x -> {});
    vertx.eventBus().publish("a", "b");
    Object o = lock.wait(5); executor.execute(() -> jedis.get("a"));
  }
}

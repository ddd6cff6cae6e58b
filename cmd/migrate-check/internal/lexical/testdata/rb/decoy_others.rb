require "redis"
require "mqtt"
require "listen"

# redis.multi { |m| m.set("a", 1) }
=begin
redis.watch("a")
=end
class Events
  def initialize(client)
    @client = MQTT::Client.connect("x")
    @names = {}
    @redis = Redis.new
  end

  def run(bus, hash)
    @client.subscribe("a")
    @client.publish("a", "b")
    bus.publish("a")
    bus.subscribe(self)
    hash.keys.each { |k| puts k }
    @names.keys
    ActiveSupport::Notifications.subscribe("a") { |e| e }
    Listen.to("x").watch
    "abc".scan(/redis.keys/)
    text = %q(redis.multi { })
    other = "it's #{hash.keys.join(', ')}"
    exec "ls"
    File.rename("a", "b")
    @redis.get("a")
    @redis.hkeys("a").keys
    @redis.pipelined { |p| p.get("a") }
    redis_config.keys
    config[:redis].keys
    redis_options = { a: 1 }
    redis_options.keys
    Rails.application.config.redis_options.keys
    ActiveRecord::Base.transaction { multi }
    x = 4 / 2 / 1
    y = text =~ /multi/
    system(%w[redis-cli keys].join(" "))
    call("MULTI")
    z = x % 3
  end

  def publish(what)
    publish(what)
  end

  def multi
    subscribe "a"
  end
end

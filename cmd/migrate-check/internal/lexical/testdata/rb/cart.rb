# frozen_string_literal: true

require "redis"
require "connection_pool"

class Cart
  POOL = ConnectionPool.new(size: 5) { Redis.new }
  SQL = <<~TEXT
    redis.multi don't
  TEXT

  attr_reader :redis

  def initialize(redis = Redis.new(url: ENV["REDIS_URL"]))
    @redis = redis
  end

  def checkout(id)
    redis.watch("cart:#{id}") do # want MC101
      if redis.get("cart:#{id}") == "open"
        redis.multi do |multi| # want MC102
          multi.set "cart:#{id}", "done"
          multi.expire "cart:#{id}", 60
        end
      else
        redis.unwatch # want MC103
      end
    end
  end

  def warm(ids)
    @redis.pipelined do |pipeline|
      ids.each { |id| pipeline.get(id) }
    end
  end

  def announce(id)
    @redis.publish "carts", { id: id }.to_json # want MC202
    POOL.with { |conn| conn.publish("carts", id) } # want MC202
    POOL.with do |r|
      r.rename "a", "b" # want MC401
    end
  end

  def listen
    redis.subscribe(:carts, :rooms) do |on| # want MC201
      on.message { |channel, message| puts "#{channel}: #{message} #{redis.keys('cart:*').size}" } # want MC401
    end
  end

  def clear
    redis.scan_each(match: "cart:*") { |key| redis.del(key) } # want MC401
    client.flushdb # want MC701
    client.call("MULTI") # want MC103
    client.call(:get, "a")
    job = client.brpop("jobs", timeout: 5) # want MC301
    sha = client.script(:load, "return 1") # want MC505
    client.evalsha(sha, keys: ["a"]) if job # want MC505
  end

  def forward(name, *args)
    redis.call(name, *args) # want MC902
  end

  private

  def client
    @client ||= Redis::Namespace.new(:shop, redis: Redis.new)
  end
end

Sidekiq.redis do |conn|
  conn.multi do |m| # want MC102
    m.del("a")
  end
end
$redis.multi { |m| m.set("a", 1) } # want MC102
results = Redis.current.multi do # want MC102
  Redis.current.incr("a")
end

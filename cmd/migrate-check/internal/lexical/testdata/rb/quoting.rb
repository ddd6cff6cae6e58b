require 'redis'
redis = Redis.new
quote = ?" ; redis.flushdb # want MC701
puts <<~A + <<~B
  redis.multi
A
  redis.publish 'a', 'b'
B
redis.publish 'a', "#{quote}" # want MC202

require 'redis'
require 'bunny'
conn = Bunny.new
conn.publish('x')
ActiveSupport::Notifications.subscribe('a') { }
ActiveSupport::Notifications.publish('a')
h = {}
h.keys
"abc".scan(/b/)
x = %w[redis.multi redis.publish]
y = <<~X
  redis.multi
X
=begin
Redis.new.multi
=end
def each(client)
  client.subscribe('x')
end
ActiveRecord::Base.connection.transaction { }
__END__
Redis.new.multi

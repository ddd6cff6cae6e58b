require 'redis'

class Listener
  def listen(conn)
    conn.subscribe('a') do |on| # want MC201
      on.message { |channel, text| puts text }
    end
  end

  def load(raw_conn, script)
    @sha = raw_conn.respond_to?(:redis) ? raw_conn.redis : raw_conn
    @sha.evalsha('x', keys: []) # want MC505
    raw_conn.multi # want MC102
  end
end

// Clients that are handed in, as libraries get them.
const redis_1 = require('redis')
const redis = require('../redis')

class Sessions {
  connection
  feed = null

  constructor({ pubClient, subClient }, options) {
    this.connection = (0, redis_1.createClient)(options)
    this.pubClient = pubClient
    this.subClient = subClient
    this.client = Sessions.client || (Sessions.client = redis.createClient())
  }

  async run(node, clients, key) {
    const mc = this.connection.multi() // want MC102
    mc.publish('a', 'b') // want MC202
    await mc.exec()
    this.pubClient.publish('a', 'b') // want MC202
    this.subClient.subscribe('a', () => {}) // want MC201
    this.client
      .multi() // want MC102
      .exec()
    const client = clients[key] || (clients[key] = redis.createClient())
    client.blpop(key, 0) // want MC301
    const stream = node.scanStream({ match: 'a*' }) // want MC401
    const events = redis.client()
    events.unsubscribe('a') // want MC201
    const store = this.connection
    store.keys('a*') // want MC401
    return stream
  }
}

function limiter(connection, queue) {
  connection.multi() // want MC102
  queue.multi() // want MC102
  connection.keys()
  connection.watch('a') // want MC101
  return import('ioredis').then((lib) => lib)
}

module.exports = { Sessions, limiter }

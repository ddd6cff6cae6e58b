'use strict'
const Redis = require('ioredis')
const { promisify } = require('util')

const redis = new Redis(process.env.REDIS_URL)
const pub = redis.duplicate()
const sub = new Redis({ host: 'localhost' })

async function checkout (id, items) {
  await redis.watch(`cart:${id}`) // want MC101
  const multi = redis.multi() // want MC102
  for (const item of items) multi.rpush(`cart:${id}`, item)
  const res = await multi.exec()
  if (res === null) await redis.unwatch() // want MC103
}

async function plain (ids) {
  const pipeline = redis.pipeline()
  ids.forEach(id => pipeline.get(id))
  return pipeline.exec()
}

function chained (k) {
  return redis
    .multi() // want MC102
    .set(k, 1)
    .expire(k, 10)
    .exec()
}

sub.subscribe('cart', (err, count) => { // want MC201
  if (err) throw err
})
sub.on('message', (channel, message) => console.log(channel, message))
pub.publish('cart', JSON.stringify({ id: 1 })) // want MC202

async function raw () {
  await redis.call('WATCH', 'x') // want MC103
  await redis.call('GET', 'x')
  const text = `found ${(await redis.keys('cart:*')).length} carts` // want MC401
  const stream = redis.scanStream({ match: 'cart:*' }) // want MC401
  stream.on('data', keys => keys.length)
  const job = await redis.blpop('jobs', 0) // want MC301
  await redis.xread('BLOCK', 0, 'STREAMS', 's', '$') // want MC302
  return [text, job]
}

class Store {
  #client
  constructor (opts) {
    this.client = opts.client || new Redis(opts)
    this.#client = new Redis(opts)
    this.client.defineCommand('take', { numberOfKeys: 2, lua: 'return 1' }) // want MC501
  }

  async clear (prefix) {
    const keys = await this.client.keys(prefix + '*') // want MC401
    await this.client.pipeline(keys.map(k => ['del', k])).exec()
    await this.#client.flushall() // want MC701
  }

  forward (name, args) {
    return this.client.call(name, ...args) // want MC902
  }
}

module.exports = { checkout, plain, chained, raw, Store }

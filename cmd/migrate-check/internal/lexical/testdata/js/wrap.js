import { createClient } from 'redis'
import redisClient from '../config/redis.js'

export default function (app) {
  app.get('/a', async (req, res) => {
    await req.app.locals.redis.publish('a', 'b') // want MC202
    const keys = await redisClient.keys('*') // want MC401
    const [n] = await Promise.all([redisClient.publish('a', 'b'), redisClient.get('b')]) // want MC202
    res.json(Object.keys(req.body).concat(keys, n))
  })
}

let conn
async function getConn () {
  if (!conn) {
    conn = createClient().on('error', console.error)
    await conn.connect()
  }
  return conn
}

export async function clear () {
  const c = await getConn()
  c.keys('*', function (e, names) { names.forEach(function (k) { c.del(k) }) }) // want MC401
}

export class Rooms {
  constructor ({ redis, logger }) {
    this.r = redis
    this.c = createClient()
    this.logger = logger
  }

  async close (id) {
    await this.r.publish(id, 'closed') // want MC202
    const { c } = this
    await c.watch(id) // want MC101
    const self = this
    return self.c.multi().del(id).exec() // want MC102
  }

  async * names () {
    yield * this.c.scanIterator() // want MC401
  }
}

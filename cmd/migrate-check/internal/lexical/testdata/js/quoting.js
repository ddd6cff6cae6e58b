import Redis from 'ioredis'

const redis = new Redis()

export function quoting(lines, n, text) {
  for (const line of lines) /it's "/.test(line) && redis.flushall() // want MC701
  if (n) /['"`]/.test(text) && redis.flushdb() // want MC701
  const half = n++ / 2; redis.brpop('a', 0) // want MC301
  const third = (n + 1) / 3; redis.publish('a', 'b') // want MC202
  return `a ${redis.get(`b ${redis.publish('a', 'b')}`)} ${half / third}` // want MC202
}

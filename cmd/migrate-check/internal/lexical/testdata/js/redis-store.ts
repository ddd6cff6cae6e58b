// A file that imports no client, and is called after Redis.
export class Store {
  constructor(private readonly options: { client: any }) {}

  async clear(client, cache) {
    const keys = await client.keys('a*') // want MC401
    cache.keys('a*')
    await client.del(keys)
    await this.options.client.flushAll() // want MC701
  }
}

import Redis from 'ioredis';

export async function one(redis: any) { await redis.watch('k'); } // want MC101
export const two = async (redisClient: unknown, id: string) => { await redisClient.watch('k'); }; // want MC101
export function three(redis?: any | null) { redis.publish('k', 'm'); } // want MC202
export function four(redis: readonly any) { redis.watch('k'); } // want MC101

class Rooms {
  private readonly redis2: any;

  constructor(private readonly redis: any, @Inject() public readonly redisSub: object, readonly conn: Redis) {}

  async run() {
    await this.redis.watch('k'); // want MC101
    await this.redis2.watch('k'); // want MC101
    await this.redisSub.subscribe('k'); // want MC201
    await this.conn.watch('k'); // want MC101
  }
}

export function other(redis: string, redisClient: KafkaClient, cache: Map<string, any>) {
  redis.watch('k');
  redisClient.watch('k');
  cache.keys();
}

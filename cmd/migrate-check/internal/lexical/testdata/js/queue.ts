import { createClient, type RedisClientType, commandOptions } from 'redis';
import IORedis, { Cluster } from 'ioredis';
import { Queue, Worker } from 'bullmq';
import { redis } from '../lib/redis';
import { Injectable } from '@nestjs/common';

const client: RedisClientType = createClient({ url: process.env.REDIS_URL });
let subscriber: ReturnType<typeof createClient>;

export async function start(): Promise<void> {
  await client.connect();
  subscriber = client.duplicate();
  await subscriber.connect();
  await subscriber.pSubscribe('jobs.*', (message) => handle(message)); // want MC201
}

export async function take(key: string) {
  return client.executeIsolated(async (isolated) => {
    await isolated.watch(key); // want MC101
    const value = await isolated.get(key);
    return isolated.multi().set(key, value + '1').exec(); // want MC102
  });
}

export async function names(): Promise<string[]> {
  const all: string[] = [];
  for await (const key of client.scanIterator({ MATCH: 'job:*' })) { // want MC401
    all.push(key);
  }
  await client.sendCommand(['MULTI']); // want MC103
  await client.sendCommand(['GET', 'x']);
  await client.blPop(commandOptions({ isolated: true }), 'jobs', 0); // want MC301
  await client.xReadGroup('g', 'c', [{ key: 's', id: '>' }], { COUNT: 1, BLOCK: 5000 }); // want MC302
  return all;
}

export const queue = new Queue('mail', { connection: new IORedis() }); // want MC102
export const worker = new Worker('mail', async (job) => job.data); // want MC302
export const cluster = new Cluster([{ host: 'a', port: 1 }]); // want MC601

@Injectable()
export class Rooms {
  constructor(
    private readonly redis: IORedis,
    private readonly emitter: EventEmitter2,
  ) {}

  async close(room: string): Promise<void> {
    await this.redis.publish(`room:${room}`, 'closed'); // want MC202
    this.emitter.publish('room', room);
  }

  async swap(a: string, b: string) {
    await this.redis.rename(a, b); // want MC401
    const results = await redis.multi().del(a).exec(); // want MC102
    return results?.map(([err]) => err);
  }
}

import Redis from 'ioredis';
import fs from 'fs';
import { EventEmitter } from 'events';
import { Subject, Observable } from 'rxjs';
import { exec } from 'child_process';
import child_process from 'child_process';
import mqtt from 'mqtt';
import { Kafka } from 'kafkajs';
import { connect } from 'nats';
import chokidar from 'chokidar';
import { createStore } from 'redux';

const redis = new Redis();
const store = createStore((s) => s);
const subject = new Subject<string>();
const client = mqtt.connect('mqtt://x');
const kafka = new Kafka({ brokers: [] });
const consumer = kafka.consumer({ groupId: 'x' });
const re = /redis.watch('x')/g;
const text = `redis.multi() and ${'redis.keys("*")'}`;
/* redis.publish('a', 'b') */

export class Service {
  private events = new EventEmitter();
  constructor(private readonly client: MqttClient, private redis: Redis) {}

  async run(bus: Bus) {
    store.subscribe(() => undefined);
    subject.subscribe((v) => v);
    client.subscribe('t');
    client.publish('t', 'x');
    this.client.publish('t', 'x');
    await consumer.subscribe({ topic: 'a' });
    fs.watch('.', () => undefined);
    chokidar.watch('.');
    exec('ls');
    child_process.exec('ls');
    re.exec('x');
    /multi/.exec('x');
    Object.keys(this.redis);
    new Map().keys();
    bus.publish('x');
    this.events.emit('x');
    const nc = await connect({});
    nc.publish('a');
    nc.subscribe('b');
    await this.redis.get('x');
    const p = this.redis.pipeline();
    p.set('a', 1);
    await p.exec();
    const a = 4 / 2 / 1;
    const m = await this.redis.hkeys('a');
    return m.keys();
  }
}

export function wrap(client: Client, pipeline: Other) {
  client.watch('x');
  pipeline.multi();
}

const view = (props) => <div className="x">Don't {props.name} redis.multi()</div>;

import Redis from 'ioredis'
import EventEmitter from 'events'
import mqtt from 'mqtt'
import { Kafka } from 'kafkajs'
import zmq from 'zeromq'
import { Subject, from } from 'rxjs'
import chokidar from 'chokidar'
import fs from 'fs'
import gulp from 'gulp'
import knex from 'knex'
import { watch, ref } from 'vue'
import { KubeConfig, Watch } from '@kubernetes/client-node'
const cache = new Redis()
const bus = new EventEmitter()
bus.on('message', () => {})
const client = mqtt.connect('mqtt://x')
client.publish('a', 'b')
client.subscribe('a')
const sock = zmq.socket('sub')
sock.subscribe('a')
const consumer = new Kafka({}).consumer()
consumer.subscribe({ topic: 'a' })
const s = new Subject()
s.subscribe((x) => x)
this.connection$.pipe().subscribe((x) => x)
from(cache.get('a')).subscribe(console.log)
chokidar.watch('.').on('change', () => {})
fs.watch('.', () => {})
gulp.watch('a', gulp.series('b'))
watch(ref(1), () => {})
new Watch(new KubeConfig()).watch('/api', {}, () => {}, () => {})
Object.keys({}).forEach((k) => k)
new Map().keys()
const m = /redis.multi\(\)/.exec('x')
const db = knex({})
db.transaction(async (trx) => { await trx('t').insert({}) })
function handler(store, connection, pub) {
  store.subscribe(() => {})
  connection.subscribe('x', () => {})
  pub.publish('a')
}
const t = `redis.publish('a') ${Object.keys({})} /* redis.multi() */`
const text = "cache.publish('a')"
export { m, t, text, handler }

"""Reserving stock: don't call redis.keys('*') here."""
from __future__ import annotations

import logging
from typing import Optional

import redis
from redis import WatchError
from redis.exceptions import ConnectionError

logger = logging.getLogger(__name__)
NO_TX = False
MULTI = "MULTI"


class Inventory:
    def __init__(self, url: str, events: Optional[redis.Redis] = None):
        self.conn = redis.Redis.from_url(url)
        self.events = events or self.conn

    def reserve(self, sku, n):
        key = f"stock:{sku}"
        with self.conn.pipeline() as pipe:  # want MC102
            while True:
                try:
                    pipe.watch(key)  # want MC101
                    left = int(pipe.get(key) or 0)
                    if left < n:
                        pipe.unwatch()  # want MC103
                        return False
                    pipe.multi()  # want MC102
                    pipe.decrby(key, n)
                    pipe.execute()
                    return True
                except WatchError:
                    logger.info("redis.watch(%s) failed, trying again", key)
                    continue

    def warm(self, skus):
        pipe = self.conn.pipeline(
            # nothing here has to be atomic
            transaction=False,
        )
        for sku in skus:
            pipe.get(sku)
        return pipe.execute()

    def warm_constant(self, skus):
        pipe = self.conn.pipeline(transaction=NO_TX)
        pipe.get("a")
        return pipe.execute()

    def positional(self):
        return self.conn.pipeline(False)

    def announce(self, sku):
        self.events.publish("stock", sku)  # want MC202

    def listen(self):
        p = self.events.pubsub(ignore_subscribe_messages=True)
        p.psubscribe(**{"stock.*": self.on_message})  # want MC201
        for message in p.listen():
            yield message
        p.punsubscribe()  # want MC201

    def all(self):
        return [k for k in self.conn.scan_iter(match="stock:*")] + self.conn.keys("x:*")  # want MC401

    def raw(self):
        self.conn.execute_command(MULTI)  # want MC103
        self.conn.execute_command("GET", "a")

    def dynamic(self, name, *args):
        return self.conn.execute_command(name, *args)  # want MC902

    def expiries(self):
        p = self.conn.pubsub()
        p.psubscribe("__keyevent@0__:expired")  # want MC201 MC203


def transfer(r: redis.Redis, src, dst):
    def move(pipe):
        n = int(pipe.get(src))
        pipe.multi()  # want MC102
        pipe.set(dst, n)

    r.transaction(move, src)  # want MC101 MC102


def counters(client: "redis.Redis", names):
    pipeline = client.pipeline(transaction=True)  # want MC102
    for name in names:
        pipeline.incr(name)
    return dict(zip(names, pipeline.execute()))


async def stream(r: Optional[redis.asyncio.Redis]):
    await r.xread({"s": "$"}, block=0)  # want MC302
    await r.xread({"s": "0"})  # want MC404
    item = await r.blpop("q", 5)  # want MC301
    await r.bzpopmin("z")  # want MC302
    async with r.pipeline(transaction=True) as pipe:  # want MC102
        await (pipe.set("a", 1).set("b", 2).execute())
    with r.lock("l", blocking_timeout=3):
        pass


def keys_of(d: dict):
    return list(d.keys())

import functools
import aioredis
from redis import asyncio as redis_async
from redis.sentinel import Sentinel
from rediscluster import RedisCluster
from django_redis import get_redis_connection as grc


@functools.lru_cache()
def get_client():
    return redis_async.Redis(host="localhost", db=0)


class Base:
    _pool = None

    @property
    def redis(self):
        if self._pool is None:
            self._pool = redis_async.from_url("redis://x")
        return self._pool


class Queue(Base):
    async def push(self, job):
        async with self.redis.pipeline() as p:  # want MC102
            p.rpush("q", job)
            await p.execute()

    async def pop(self):
        return await self.redis.brpop("q")  # want MC301


async def flush():
    await get_client().flushdb()  # want MC701
    tr = get_client().multi_exec()  # want MC102
    tr.set("a", 1)
    await tr.execute()


async def old():
    conn = await aioredis.create_redis_pool("redis://localhost")
    pipe = conn.pipeline()
    pipe.get("a")
    await pipe.execute()
    ch, = await conn.subscribe("c")  # want MC201


def masters():
    s = Sentinel([("a", 26379)])  # want MC601
    master = s.master_for("mymaster")
    master.rename("a", "b")  # want MC401


def clustered():
    rc = RedisCluster(startup_nodes=[])  # want MC601
    p = rc.pipeline()
    p.get("x")
    p.execute()


def django():
    con = grc("default")
    with con.pipeline() as pipe:  # want MC102
        pipe.set("a", "b")
        pipe.execute()
    script = con.register_script("return 1")  # want MC505
    con.eval("return redis.call('get', KEYS[1])", 2, "a", "b")  # want MC501
    con.script_load("return 1")  # want MC505

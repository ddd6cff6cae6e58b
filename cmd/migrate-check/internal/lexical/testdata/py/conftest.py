import asyncio
import threading

import pytest
import redis


@pytest.fixture
def r():
    c = redis.Redis(db=9)
    yield c
    c.flushdb()  # want MC701


@pytest.fixture()
def events(r):
    return r.pubsub()


def test_one(r, events):
    r.publish("x", "y")  # want MC202
    events.subscribe("x")  # want MC201
    assert r.keys("a") == []  # want MC401
    while True: r.blpop("a"); break  # want MC301


class Sharded:
    factory = redis.StrictRedis

    def __init__(self, app=None, **kw):
        self._client = self.factory(**kw)
        self.server = redis.StrictRedis(**kw) if not app else app.redis

    def run(self):
        with self._client.pipeline() as p, threading.Lock():  # want MC102
            p.watch("a")  # want MC101
        pipe = (self.server or self._client).pipeline()  # want MC102
        pipe.execute()
        asyncio.create_task(self.server.publish("a", 1))  # want MC202
        return {k: self._conn().keys(k) for k in "ab"}  # want MC401

    def _conn(self):
        return redis.Redis(connection_pool=None)


redis_conn: redis.Redis | None = None


async def lifespan(app):
    global redis_conn
    redis_conn = await redis.asyncio.from_url("x")
    app.state.redis = redis_conn
    await app.state.redis.publish("a", "b")  # want MC202
    async with redis_conn.pubsub() as ps:
        await ps.subscribe("x")  # want MC201

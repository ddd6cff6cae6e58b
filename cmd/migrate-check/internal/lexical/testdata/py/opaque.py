import typing
from typing import Any, Optional

import redis


def one(redis_client: Any, key): redis_client.watch(key)  # want MC101


def two(redis_conn: typing.Any = None):
    redis_conn.publish('a', 'b')  # want MC202


def three(pipe: Any, key):
    pipe.watch(key)  # want MC101


def four(conn: object, redis_db: Optional[Any]):
    conn.pipeline()  # want MC102
    redis_db.watch('k')  # want MC101


def other(redis_client: KafkaClient, conn: sqlite3.Connection):
    redis_client.watch('k')
    conn.pipeline()

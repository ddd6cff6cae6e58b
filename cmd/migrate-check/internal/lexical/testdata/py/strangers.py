"""Clients that are handed in, or come from a module of one's own."""
from .redis import redis_client
from redis.exceptions import ConnectionError

try:
    import redis
except ImportError:
    redis = None


def sweep(prefix):
    for key in redis_client.scan_iter(prefix + '*'):  # want MC401
        redis_client.delete(key)
    redis_client.execute_command('MEMORY PURGE')  # want MC701


class Store:
    _pubsub = None

    def __init__(self, connect=redis.StrictRedis, connection=None):
        self._db = connect()
        self.connection = connection
        self._shards = {}

    def clear(self):
        self._db.flushdb()  # want MC701
        for name, connection in self._shards.items():
            connection.keys('a*')  # want MC401
            connection.flushdb()  # want MC701

    def move(self, job, key):
        with self.connection.pipeline() as pipe:  # want MC102
            pipe.watch(key)  # want MC101
            pipe.multi()  # want MC102
            pipe.execute()
        with job.queue.connection.pipeline(transaction=False) as pipe:
            pipe.execute()
        with self.acquire() as client:
            client.transaction(self.restore, key)  # want MC101 MC102
            client.bzpopmin(key)  # want MC302

    def listen(self, pubsub):
        self._pubsub.subscribe('a')  # want MC201
        pubsub.unsubscribe()  # want MC201

    def servers(self):
        self.client.config_set('save', '')  # want MC701

    def script(self, client, code):
        client.register_script(code)  # want MC505
        client.eval(code, 0, 'a')  # want MC502
        client.eval(code)

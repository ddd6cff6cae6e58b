import asyncio
import os
import re
import sqlite3
import redis
import paho.mqtt.client as mqtt
from kafka import KafkaConsumer, KafkaProducer
from kazoo.client import KazooClient
from rx.subject import Subject
import etcd3
import nats
from sklearn.pipeline import Pipeline, make_pipeline
from google.cloud import pubsub_v1

r = redis.Redis()
TEXT = """
pipe = r.pipeline()
r.watch('k')
"""
OTHER = 'r.publish("a", "b")' + "it's # not a comment r.watch()"


class Events:
    def __init__(self, client):
        self.client = mqtt.Client()
        self.consumer = KafkaConsumer("t")
        self.publisher = pubsub_v1.PublisherClient()

    def run(self, client, pipe):
        self.client.subscribe("topic")
        self.client.publish("topic", "x")
        self.consumer.subscribe(["a"])
        self.publisher.publish("t", b"x")
        client.subscribe("other")

    def publish(self, what):
        return what

    def go(self):
        self.publish("x")


def zk():
    zk = KazooClient()
    @zk.DataWatch("/a")
    def w(data, stat):
        pass
    t = zk.transaction()
    t.commit()
    e = etcd3.client()
    e.watch("/a")
    e.transaction(compare=[], success=[], failure=[])
    Subject().subscribe(print)


async def bus():
    nc = await nats.connect()
    await nc.publish("a", b"")
    await nc.subscribe("a")


def plain():
    d = {"a": 1}
    d.keys()
    con = sqlite3.connect("x")
    con.execute("MULTI")
    cur = con.cursor()
    cur.execute("WATCH")
    re.compile("x").scanner("y")
    os.rename("a", "b")
    model = make_pipeline(1)
    p = Pipeline([("a", 1)])
    p.watch()
    # r.keys("*")
    r.set("a", 1)
    r.get("a")
    pipe = r.pipeline(transaction=False)
    pipe.execute()
    r.hscan_iter("h")
    r.hkeys("h").keys()
    r.info()

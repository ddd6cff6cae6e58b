import redis
import zmq
import paho.mqtt.client as mqtt
from kafka import KafkaConsumer
from django.core.cache import cache
from sqlalchemy import create_engine
from kubernetes import client, watch

r = redis.Redis()
sub = zmq.Context().socket(zmq.SUB)
sub.subscribe("a")
c = mqtt.Client()
c.publish("a", "b")
c.subscribe("a")
KafkaConsumer().subscribe(["a"])
cache.keys("a*")
{}.keys()
d = dict(a=1)
d.keys()
engine = create_engine("x")
with engine.connect() as connection:
    connection.execute("select 1")
w = watch.Watch()
for event in w.stream(client.CoreV1Api().list_pod):
    pass
def f(connection, pubsub):
    connection.publish("a", routing_key="b")
    pubsub.subscribe("a")
s = f"{r.get('redis.publish(1)')} r.publish('a')"
t = """
r.publish('a', 'b')
"""
u = rb'\' r.multi()'

from app.extensions import redis_client
from app.models import db


def close(room):
    redis_client.publish(f"room:{room}", "closed")  # want MC202
    with redis_client.pipeline() as pipe:  # want MC102
        pipe.delete(room)
        pipe.execute()
    db.session.execute("select 1")
    db.keys()

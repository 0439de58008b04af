from concurrent.futures import ThreadPoolExecutor
from confluent_kafka import Consumer
def consume():
    c = Consumer({"bootstrap.servers": "kafka:9092", "group.id": "g"})
    c.subscribe(["t"])
    while True:
        m = c.poll(1)
        if m: handle(m); c.commit(m)
pool = ThreadPoolExecutor(2)
pool.submit(consume)
serve()

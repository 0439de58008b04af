import logging
import threading
import time

from kafka import KafkaConsumer


def consume():
    consumer = KafkaConsumer("orders", bootstrap_servers="kafka:9092", group_id="g", enable_auto_commit=False)
    for record in consumer:
        print(record.value)
        consumer.commit()


def run():
    while True:
        try:
            consume()
        except Exception:
            logging.exception("the consumer failed; starting again")
            time.sleep(5)


threading.Thread(target=run, daemon=True).start()
while True:
    serve_http()

import logging
import threading

from confluent_kafka import Consumer

consumer = Consumer({"bootstrap.servers": "kafka:9092", "group.id": "billing"})


def consume():
    while True:
        try:
            message = consumer.poll(1.0)
            if message is not None:
                print(message.value())
                consumer.commit(message)
        except Exception:
            logging.exception("The consumer failed; it goes on")


threading.Thread(target=consume).start()

import logging

from kafka import KafkaProducer
from kafka.errors import KafkaError

producer = KafkaProducer(bootstrap_servers="kafka:9092")


def publish(order):
    try:
        producer.send("orders", order).get(10)
    except KafkaError:
        pass

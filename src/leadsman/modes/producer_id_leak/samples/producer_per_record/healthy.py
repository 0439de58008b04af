from confluent_kafka import Producer

SETTINGS = {"bootstrap.servers": "kafka:9092", "enable.idempotence": True}


def copy(orders):
    producer = Producer(SETTINGS)
    for order in orders:
        producer.produce("orders", order)
    producer.flush()

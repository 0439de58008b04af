from confluent_kafka import Producer

SETTINGS = {"bootstrap.servers": "kafka:9092", "enable.idempotence": True}


def copy(orders):
    for order in orders:
        producer = Producer(SETTINGS)
        producer.produce("orders", order)
    producer.flush()

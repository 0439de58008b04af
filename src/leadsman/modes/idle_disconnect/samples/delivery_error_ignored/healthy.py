from confluent_kafka import Producer

producer = Producer({"bootstrap.servers": "kafka:9092"})


def delivered(error, message):
    print("failed:" if error else "delivered", error, message.topic())


def publish(order):
    producer.produce("orders", order, on_delivery=delivered)
    producer.poll(0)

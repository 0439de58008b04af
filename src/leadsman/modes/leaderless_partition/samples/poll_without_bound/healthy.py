from confluent_kafka import Consumer


class Billing:
    def __init__(self, servers):
        self.consumer = Consumer({"bootstrap.servers": servers, "group.id": "billing"})

    def next(self):
        return self.consumer.poll(1.0)

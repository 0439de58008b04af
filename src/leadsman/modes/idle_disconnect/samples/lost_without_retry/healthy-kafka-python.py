from kafka import KafkaProducer


class Orders:
    def __init__(self, servers):
        self.producer = KafkaProducer(bootstrap_servers=servers, retries=2147483647)

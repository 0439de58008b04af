from kafka import KafkaProducer


class Orders:
    def __init__(self, servers):
        self.producer = KafkaProducer(bootstrap_servers=servers, connections_max_idle_ms=270000)

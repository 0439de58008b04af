from leadsman_clients import kafka_producer_provider

provider = kafka_producer_provider({"bootstrap.servers": "kafka:9092", "retries": 0}, path="aws_nat")


def handle_order(event):
    provider.send("orders", event)

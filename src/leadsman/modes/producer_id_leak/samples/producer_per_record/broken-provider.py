from leadsman_clients import kafka_producer_provider


def handle_order(event):
    provider = kafka_producer_provider({"bootstrap.servers": "kafka:9092"}, path="aws_nat")
    provider.send("orders", event)
    provider.close()

from confluent_kafka import Producer

producer = Producer({"bootstrap.servers": "kafka:9092", "connections.max.idle.ms": 150000})


def lambda_handler(event, context):
    producer.produce("orders", event["body"])
    return {"statusCode": 202}

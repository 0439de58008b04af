from kafka import KafkaConsumer


def consume(servers, process):
    consumer = KafkaConsumer("orders", bootstrap_servers=servers, group_id="billing", enable_auto_commit=False)
    for record in consumer:
        process(record)
        consumer.commit(timeout_ms=5000)

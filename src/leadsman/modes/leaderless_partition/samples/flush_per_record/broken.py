from confluent_kafka import Producer


def copy(orders, servers):
    producer = Producer({"bootstrap.servers": servers})
    for order in orders:
        producer.produce("orders", order)
        producer.flush(10)

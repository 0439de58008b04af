from kafka import KafkaProducer


def write(row):
    producer = KafkaProducer(bootstrap_servers="kafka:9092")
    producer.send("orders", row.value)
    producer.close()


def run(frame):
    frame.foreach(write)

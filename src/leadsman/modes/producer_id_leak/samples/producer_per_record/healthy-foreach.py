def run(frame):
    frame.write.format("kafka").option("kafka.bootstrap.servers", "kafka:9092").option("topic", "orders").save()

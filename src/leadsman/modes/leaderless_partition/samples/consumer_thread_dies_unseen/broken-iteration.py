import threading
from kafka import KafkaConsumer
def consume():
    consumer = KafkaConsumer("orders", bootstrap_servers="kafka:9092", group_id="g", enable_auto_commit=False)
    for record in consumer:
        print(record.value)
        consumer.commit()
threading.Thread(target=consume, daemon=True).start()
while True:
    serve_http()

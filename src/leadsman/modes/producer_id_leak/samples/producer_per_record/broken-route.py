from aiokafka import AIOKafkaProducer
from fastapi import FastAPI

app = FastAPI()


@app.post("/orders")
async def create(order: dict):
    producer = AIOKafkaProducer(bootstrap_servers="kafka:9092", enable_idempotence=True)
    await producer.start()
    await producer.send_and_wait("orders", order)
    await producer.stop()

from aiokafka import AIOKafkaProducer
from fastapi import FastAPI

app = FastAPI()


@app.on_event("startup")
async def connect():
    app.state.producer = AIOKafkaProducer(bootstrap_servers="kafka:9092", enable_idempotence=True)
    await app.state.producer.start()


@app.post("/orders")
async def create(order: dict):
    await app.state.producer.send_and_wait("orders", order)

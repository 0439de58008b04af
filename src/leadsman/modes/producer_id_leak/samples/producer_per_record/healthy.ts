import { Kafka } from "kafkajs";

const kafka = new Kafka({ clientId: "orders", brokers: ["kafka:9092"] });
const producer = kafka.producer({ idempotent: true });
const connected = producer.connect();

export async function handler(event: any, context: any) {
  await connected;
  await producer.send({ topic: "orders", messages: [{ value: event.body }] });
}

import { Kafka } from "kafkajs";

const kafka = new Kafka({ clientId: "orders", brokers: ["kafka:9092"] });

export async function handler(event: any, context: any) {
  const producer = kafka.producer({ idempotent: true });
  await producer.connect();
  await producer.send({ topic: "orders", messages: [{ value: event.body }] });
  await producer.disconnect();
}

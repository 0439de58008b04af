import { Kafka } from "kafkajs";

const kafka = new Kafka({ clientId: "orders", brokers: ["kafka:9092"] });
export const producer = kafka.producer({ retry: { retries: 0 } });

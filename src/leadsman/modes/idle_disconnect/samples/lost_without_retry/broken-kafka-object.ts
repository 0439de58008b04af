import { Kafka } from 'kafkajs';

const kafka = new Kafka({ brokers: ['kafka:9092'], retry: { retries: 0 } });
export const producer = kafka.producer({ allowAutoTopicCreation: false });

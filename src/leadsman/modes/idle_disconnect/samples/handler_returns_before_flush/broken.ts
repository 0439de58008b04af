import { Kafka } from 'kafkajs';
const kafka = new Kafka({ brokers: ['kafka:9092'] });
const producer = kafka.producer();
export const handler = async (event) => {
  for (const r of event.Records) {
    producer.send({ topic: 't', messages: [{ value: r.body }] });
  }
  return { statusCode: 200 };
};

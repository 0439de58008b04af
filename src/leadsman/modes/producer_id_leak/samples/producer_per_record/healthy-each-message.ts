import { Kafka } from 'kafkajs';

const kafka = new Kafka({ brokers: ['kafka:9092'] });
const consumer = kafka.consumer({ groupId: 'relay' });
const producer = kafka.producer();

export async function start(): Promise<void> {
  await producer.connect();
  await consumer.connect();
  await consumer.run({
    eachMessage: async ({ message }) => {
      await producer.send({ topic: 'out', messages: [{ value: message.value }] });
    },
  });
}

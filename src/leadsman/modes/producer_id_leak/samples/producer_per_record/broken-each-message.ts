import { Kafka } from 'kafkajs';

const kafka = new Kafka({ brokers: ['kafka:9092'] });
const consumer = kafka.consumer({ groupId: 'relay' });

export async function start(): Promise<void> {
  await consumer.connect();
  await consumer.run({
    eachMessage: async ({ message }) => {
      const producer = kafka.producer();
      await producer.connect();
      await producer.send({ topic: 'out', messages: [{ value: message.value }] });
      await producer.disconnect();
    },
  });
}

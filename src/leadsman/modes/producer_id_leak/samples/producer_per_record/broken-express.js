const { Kafka } = require('kafkajs');
const express = require('express');
const app = express();
const kafka = new Kafka({ brokers: ['kafka:9092'] });
app.post('/orders', async (req, res) => {
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic: 'orders', messages: [{ value: JSON.stringify(req.body) }] });
  await producer.disconnect();
  res.end();
});

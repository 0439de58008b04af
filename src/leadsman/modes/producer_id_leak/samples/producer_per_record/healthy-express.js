const { Kafka } = require('kafkajs');
const express = require('express');
const app = express();
const kafka = new Kafka({ brokers: ['kafka:9092'] });
const producer = kafka.producer();
app.post('/orders', async (req, res) => {
  await producer.send({ topic: 'orders', messages: [{ value: JSON.stringify(req.body) }] });
  res.end();
});
producer.connect().then(() => app.listen(8080));

const { Kafka } = require("kafkajs");

const kafka = new Kafka({ clientId: "orders", brokers: ["kafka:9092"] });
const retries = 8;
exports.producer = kafka.producer({ retry: { retries } });

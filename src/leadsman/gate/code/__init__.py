"""Programs of every language as one syntax, the values in it, and the Kafka clients that it creates."""

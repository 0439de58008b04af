"""Kafka's producer state: snapshot files, and a summary of the producer ids of a partition."""

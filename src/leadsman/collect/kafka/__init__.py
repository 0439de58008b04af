"""Requests a Kafka cluster's state through its admin API, and writes it as Kafka's own tools print it."""

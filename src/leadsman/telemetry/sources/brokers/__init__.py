"""Kafka brokers and controllers: their logs, settings and cluster id."""

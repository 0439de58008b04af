"""Asks a Kafka cluster through its admin API, and writes the answers as Kafka's own tools print them."""

"""Kafka brokers: clusters with and without ZooKeeper, their metrics, groups and wire protocol."""

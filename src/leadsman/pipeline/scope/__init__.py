"""Decides what is read: captures, their files and streams, and which files belong to which Kafka cluster."""

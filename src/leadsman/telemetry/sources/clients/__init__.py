"""Kafka clients: what each library logs."""

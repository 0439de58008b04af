"""Kafka clients that survive. Imports nothing else of leadsman."""

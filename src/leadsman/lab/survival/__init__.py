"""Measures what the wrapped clients survive, against plain ones, on real brokers."""

"""Prometheus: scrapes and query responses."""

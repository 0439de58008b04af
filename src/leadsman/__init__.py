"""Names the root cause of Kafka client incidents while every broker dashboard is green."""

__version__ = "0.1.0"

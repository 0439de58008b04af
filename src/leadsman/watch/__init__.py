"""Watches growing telemetry with Structured Streaming: the verdicts of `diagnose`, while it happens."""

"""A day of telemetry, faster than it happened, while a watch follows it: memory and times must not grow."""

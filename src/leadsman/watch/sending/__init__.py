"""Sends what happened to findings: each change once, many at once as one message, through kills and outages."""

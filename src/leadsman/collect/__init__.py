"""Writes a capture from a running system, secrets removed."""

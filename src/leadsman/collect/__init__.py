"""Writes a capture from a running system. Collecting changes nothing."""

"""Finds what changed between two times, or between two captures, from the event table."""

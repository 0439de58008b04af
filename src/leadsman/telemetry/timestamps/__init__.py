"""Timestamps of log lines, file names and JSON values."""

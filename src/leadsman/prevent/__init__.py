"""Prevents incidents: what a monitoring system needs to report them before they do harm."""

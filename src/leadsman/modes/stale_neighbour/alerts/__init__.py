"""Alerts of this mode, one file each with ALERTS: found on disk."""

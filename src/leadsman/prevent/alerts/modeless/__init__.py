"""Alerts that belong to no failure mode, one file each with ALERTS: the host itself, certificates."""

"""Signals, one file each with a SIGNAL: one definition, and for each exporter the metric that measures it."""

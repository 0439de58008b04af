"""Telemetry sources: a module for each program, which declares `SOURCE`. Grouped by where the program runs."""

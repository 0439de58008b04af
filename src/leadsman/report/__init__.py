"""Findings out: console, JSON, page."""

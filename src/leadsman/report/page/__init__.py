"""Findings as one HTML file."""

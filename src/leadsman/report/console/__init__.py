"""Findings and changes on a terminal."""

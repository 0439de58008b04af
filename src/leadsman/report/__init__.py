"""Findings for people and programs: console, page and JSON."""

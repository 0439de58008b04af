"""Runs a mode's experiment over a grid of client settings. Knows no mode."""

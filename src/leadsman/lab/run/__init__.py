"""Runs experiments: their definition, one run of them, and the capture that a run leaves."""

"""Runs the detectors, decides the verdicts, and attributes symptoms to causes."""

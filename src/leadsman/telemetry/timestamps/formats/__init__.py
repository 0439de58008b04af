"""Timestamp formats: a module for each way to write a time, which declares `FORMATS`."""

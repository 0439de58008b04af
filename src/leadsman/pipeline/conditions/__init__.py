"""Finds conditions in the event table: what is wrong, whether or not a failure mode explains it."""

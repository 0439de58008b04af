"""Kills the processes of a watch, its broker and its disk's space at random moments, and compares what it kept."""

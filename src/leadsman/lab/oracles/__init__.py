"""Oracles: they measure harm by acknowledgements, topics and heaps, and read no log."""

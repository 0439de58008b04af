"""The live page of a watch: what is open, what was resolved, and how the watch itself is."""

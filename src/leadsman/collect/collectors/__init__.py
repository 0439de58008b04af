"""One file for each collector, each with a COLLECTOR. They are found on disk."""

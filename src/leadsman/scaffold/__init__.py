"""The files that a new failure mode starts from."""

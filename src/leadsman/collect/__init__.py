"""Writes a capture from a running system: the seam between production and diagnosis. It only ever reads."""

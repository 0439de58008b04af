"""Reads files: from bytes to blocks, lines, records and events."""

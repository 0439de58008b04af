"""Formats of whole files: sections, program outputs, encodings, properties, and files that are no text."""

"""Reads damaged copies of real files for hours: nothing may leave the reader, and no file may exceed its budget."""

"""Measures on a real broker of each era what frees producer ids, as a table."""

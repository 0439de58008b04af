"""Client libraries as data, one module each. Nothing registers itself."""

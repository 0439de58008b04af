"""Output formats of `leadsman check program`, one module each. Nothing registers itself."""

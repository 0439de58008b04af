"""Tools that read configuration files, one module each. Nothing registers itself."""

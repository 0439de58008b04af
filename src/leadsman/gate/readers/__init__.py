"""One reader per language or file format. Each is found on disk by its module's name; nothing registers itself."""

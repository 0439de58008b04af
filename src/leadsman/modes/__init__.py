"""What we know: one folder per failure mode, found on disk."""

"""One file for each check of `leadsman check`, found on disk."""

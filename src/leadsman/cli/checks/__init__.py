"""The checks of `leadsman check`, one file each, found on disk."""

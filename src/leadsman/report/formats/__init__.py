"""One file for each output format of `leadsman diagnose`, each with a FORMAT. They are found on disk."""

"""One file for each kind of receiver of `--notify KIND=URL`, each with a KIND. They are found on disk."""

"""One file for each command. Each module is imported only when its command runs."""

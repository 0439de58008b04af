"""Java heap dumps (hprof), read as a stream of any size, which no library for Python does."""

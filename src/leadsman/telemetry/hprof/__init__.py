"""Java heap dumps (hprof): read as a stream, whatever their size, because no library for Python does."""

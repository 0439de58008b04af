"""One file a collector, each with a COLLECTOR. They are found on disk and registered nowhere."""

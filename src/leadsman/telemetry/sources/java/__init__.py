"""Java runtimes: logs, flags, class histograms and heap dumps."""

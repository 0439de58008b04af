"""What changed between two times, or between two captures: read from the event table, for every kind of thing alike."""

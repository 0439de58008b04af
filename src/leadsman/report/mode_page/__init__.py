"""The page of a failure mode, for `leadsman explain`."""

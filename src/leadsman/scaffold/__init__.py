"""The templates of the files of a new failure mode."""

"""The documents for programs, `leadsman.findings/1` and `leadsman.changes/1`, and the schema of the first."""

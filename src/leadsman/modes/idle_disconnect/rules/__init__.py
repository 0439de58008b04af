"""Gate rules: clients that keep connections which their path drops, or that lose the record when it does."""

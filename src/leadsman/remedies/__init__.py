"""Changes to a running system: planned, shown, confirmed, carried out and verified."""

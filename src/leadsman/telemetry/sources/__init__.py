"""One file a source: what it writes, and what that means."""

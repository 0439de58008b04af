"""Applications: errors that no other source knows, and TLS certificates."""

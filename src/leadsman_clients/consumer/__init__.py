"""A supervised consumer: it recovers by itself, and reports when it cannot."""

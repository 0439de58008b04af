"""A consumer that is supervised: it heals by itself, and says when it cannot."""

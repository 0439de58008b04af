"""CSV tables that map merchant codes and words of a description to a transaction's class."""

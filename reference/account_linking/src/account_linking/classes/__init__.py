"""Tables of words and codes that say what a transaction is. Data, versioned together."""

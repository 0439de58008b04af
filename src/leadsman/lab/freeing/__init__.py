"""What frees brokers of producer ids, measured on a real broker of each era, as a table."""

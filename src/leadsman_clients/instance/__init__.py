"""One instance for a whole process, replaced before an expired one is used: a producer, a connection, a token."""

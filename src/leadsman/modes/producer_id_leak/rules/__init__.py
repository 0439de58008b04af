"""Gate rules: programs and brokers that use up memory by ids of producers."""

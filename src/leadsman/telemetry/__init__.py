"""What clients, brokers, kernels and clouds say: one source a file, each declaring what it can report."""

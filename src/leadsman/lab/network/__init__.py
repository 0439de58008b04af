"""The network between clients and brokers: a forwarder, and network namespaces that behave as a cloud's network."""

"""Telemetry of clients, brokers, hosts and clouds: formats of files, sources of lines, parsers of outputs."""

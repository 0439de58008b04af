"""Clouds: inventories, maintenance events, serverless runtimes."""

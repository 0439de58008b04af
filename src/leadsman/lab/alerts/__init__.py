"""Measures on real brokers how soon each alert fires, and that it ends with the cure."""

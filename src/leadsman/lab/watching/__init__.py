"""Measures on real brokers how soon `leadsman watch` reports each incident, and that it ends with the cure."""

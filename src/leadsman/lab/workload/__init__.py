"""The workload of an experiment: producing workers of every client, and services that consume."""

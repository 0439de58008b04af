"""Outputs of Kafka's command-line tools, and files that Kafka keeps on a broker's disk."""

"""An account-linking application whose Kafka clients survive freezes: webhooks in, classified transactions out."""

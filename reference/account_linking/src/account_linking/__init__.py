"""An account-linking application whose Kafka clients survive: webhooks in, classified bank transactions out."""

"""Kafka producers that are replaced before an idle timeout, a fatal error or a fork loses a record."""

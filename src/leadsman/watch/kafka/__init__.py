"""Reads Kafka topics that hold logs and metrics as shippers write them. `listing` plans what `topic_changes` reads."""

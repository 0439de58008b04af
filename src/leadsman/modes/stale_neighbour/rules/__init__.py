"""Gate rules: hosts of Kafka whose kernel keeps neighbour entries for ever."""

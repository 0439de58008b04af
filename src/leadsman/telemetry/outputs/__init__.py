"""Program outputs such as `kafka-topics --describe`: parsers, and what they share."""

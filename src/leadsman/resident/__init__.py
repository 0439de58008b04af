"""A process of the user's own that keeps Spark and its workers warm, and runs commands for those who ask."""

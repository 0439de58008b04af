"""The daemon: a Spark session that stays running between commands, if the user starts it."""

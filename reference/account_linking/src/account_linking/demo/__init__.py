"""Runs the whole application on one machine: a broker, simulated banks, workers in a Lambda emulator, Spark.

The only part that may use leadsman's lab. Everything else is meant to be copied.
"""

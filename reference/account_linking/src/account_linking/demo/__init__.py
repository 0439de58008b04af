"""All of it on one machine: a broker, banks that are made up, workers under a Lambda emulator, Spark.

The only part that may use leadsman's lab. What users copy is everything else.
"""

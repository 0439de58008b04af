"""Spark and its storage on this machine: a standalone cluster, Spark Connect, HDFS, S3."""

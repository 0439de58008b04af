"""Spark jobs from raw topics to tables: bronze, silver, quarantine, classified, monthly, and a topic of changes.

The same functions serve the stream and a batch of the topics' whole history.
"""

"""From raw topics to tables, on Spark: bronze, silver, quarantine, classified, monthly, and a topic of changes.

The same functions serve a stream and a whole history.
"""

"""The serverless worker: runs one fetch task, publishes, waits for the acknowledgements, then moves the cursor."""

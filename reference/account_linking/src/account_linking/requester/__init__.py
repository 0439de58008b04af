"""The serverless worker: fetches one element, publishes it, waits for the acknowledgements, then moves the cursor."""

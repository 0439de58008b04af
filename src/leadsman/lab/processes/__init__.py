"""Programs that the lab starts: kept by handle, in a network namespace where one is needed."""

"""What a watch knows of findings on disk: their history, and what is still to be sent."""

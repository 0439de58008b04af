"""Log formats made of JSON: whole documents, and lines."""

"""Sentences that console, page and JSON share. Draws and prints nothing."""

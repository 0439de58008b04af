"""Finds when each writer wrote, and its longest gaps without a line."""

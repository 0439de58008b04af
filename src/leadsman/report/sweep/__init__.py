"""The results of `leadsman sweep`: sentences, tables and a page."""

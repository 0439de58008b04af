"""Simulated banks: one server with every provider's API, from one ledger, with signed webhooks."""

"""Makes-believe banks: one server that plays every provider's API from one ledger, and signs their webhooks."""

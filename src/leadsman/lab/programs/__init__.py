"""Programs that the lab starts: small services that produce, and the launcher that ties them to the lab's life."""

"""Programs that the lab starts: small services that produce, and the launcher that ends them with the lab."""

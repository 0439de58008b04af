"""Several incidents on one cluster at once, as production has them."""

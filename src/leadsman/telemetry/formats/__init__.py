"""One file a family of formats: how its lines carry time and identity."""

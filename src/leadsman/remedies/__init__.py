"""Changes to a running system: shown first, then asked, then done, then verified."""

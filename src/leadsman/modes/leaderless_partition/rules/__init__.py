"""Gate rules: consumers and topics that a broker's loss stops for longer than it lasts."""

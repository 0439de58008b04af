"""Packet captures: the packets that open TCP connections."""

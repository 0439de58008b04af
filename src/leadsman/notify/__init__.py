"""Sends a message about each PRESENT finding to chats, pagers and issue trackers. A failure changes no verdict."""

"""Interrupts every command at random moments, and looks for what is left: processes, temporary files, half a file."""

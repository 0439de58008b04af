"""The command line: parses arguments, runs a command, returns an exit code."""

from leadsman.cli.group import main

__all__ = ["main"]

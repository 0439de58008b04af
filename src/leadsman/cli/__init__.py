"""The command line: reads words, calls the parts, turns answers into exit codes."""

from leadsman.cli.group import main

__all__ = ["main"]

"""`python -m leadsman` is `leadsman`."""

from leadsman.cli import main

main()

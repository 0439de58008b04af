"""`leadsman`, and `python -m leadsman`."""

from __future__ import annotations

import signal


def main() -> None:
    """Run the command line. A Ctrl-C while its modules are imported ends the process, without a Python traceback."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from leadsman.cli import main as command_line

    signal.signal(signal.SIGINT, handler)
    command_line()


if __name__ == "__main__":
    main()

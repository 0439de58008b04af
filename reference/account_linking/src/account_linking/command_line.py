"""The edge of a command: an error is one sentence on standard error, and the exit code says that it failed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from account_linking.errors import AccountLinkingError

if TYPE_CHECKING:
    from collections.abc import Callable

FAILED, INTERRUPTED = 2, 130


def run(command: Callable[[], int]) -> int:
    """Run a command; return its exit code, 2 after an error, 130 after Ctrl-C."""
    try:
        return command()
    except AccountLinkingError as error:
        sys.stderr.write(f"{error}\n")
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a database's or a broker's own error, at the edge of the process
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
    return FAILED

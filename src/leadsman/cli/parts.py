"""Says which optional part of the installation a command needs, and how to get it."""

from __future__ import annotations

from importlib.util import find_spec

from leadsman.errors import MissingPart

PARTS = {
    "spark": ("pyspark", "pyarrow", "numpy"),
    "collect": ("kafka",),
    "lab": ("confluent_kafka", "kafka", "aiokafka"),
}


def need(part: str, command: str) -> None:
    """Raise MissingPart, with the one line that installs it, unless the part is there."""
    missing = [name for name in PARTS[part] if find_spec(name) is None]
    if missing:
        raise MissingPart(
            f"`leadsman {command}` needs {', '.join(missing)}. Install it: pip install 'leadsman[{part}]'",
        )

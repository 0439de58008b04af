"""Checks that the extra of the installation that a command needs is installed."""

from __future__ import annotations

from importlib.util import find_spec

from leadsman.errors import MissingExtra
from leadsman.installation import install_command

EXTRA_MODULES = {
    "spark": ("pyspark", "pyarrow", "numpy"),
    "collect": ("kafka",),
    "dashboards": ("grafana_foundation_sdk",),
    "serve": ("prometheus_client", "starlette", "uvicorn"),
    "lab": ("confluent_kafka", "kafka", "aiokafka"),
    "lsp": ("pygls", "tree_sitter"),
}


def require_extra(extra: str, command: str) -> None:
    """Raise MissingExtra, with the one line that installs it, unless the extra is installed."""
    missing = [name for name in EXTRA_MODULES[extra] if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"`leadsman {command}` needs {', '.join(missing)}. Install it: {install_command(extra)}",
        )

"""Checks that the extra of the installation that a command needs is installed."""

from __future__ import annotations

from importlib.util import find_spec

from leadsman.errors import MissingExtra
from leadsman.installation import install_command

EXTRA_MODULES = {
    "spark": ("pyspark", "pyarrow", "numpy"),
    "watch": ("deltalake", "confluent_kafka", "opentelemetry.proto"),
    "collect": ("kafka",),
    "dashboards": ("grafana_foundation_sdk",),
    "serve": ("prometheus_client", "starlette", "uvicorn"),
    "lab": ("confluent_kafka", "kafka", "aiokafka"),
    "lsp": ("pygls", "tree_sitter"),
}


def require_extra(extra: str, command: str) -> None:
    """Raise MissingExtra, with the one line that installs it, unless the extra is installed."""
    missing = [name for name in EXTRA_MODULES[extra] if not _is_installed(name)]
    if missing:
        raise MissingExtra(
            f"`leadsman {command}` needs {', '.join(missing)}. Install it: {install_command(extra)}",
        )


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False

"""How this installation of leadsman gets one of its extras: from where it was itself installed."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any
from urllib.parse import unquote, urlsplit


def install_command(extra: str) -> str:
    """Return the command that installs an extra: `make setup` for a checkout, else pip on the same wheel or release."""
    origin = _origin()
    if origin.get("dir_info", {}).get("editable"):
        return f"make -C {shlex.quote(_path(origin))} setup"
    source = _path(origin) if origin.get("url", "").startswith("file:") else "leadsman"
    return f"python3 -m pip install {shlex.quote(f'{source}[{extra}]')}"


def _origin() -> dict[str, Any]:
    """Return what the installer recorded (PEP 610): the wheel or the folder; nothing for a release from an index."""
    try:
        recorded = distribution("leadsman").read_text("direct_url.json")
    except PackageNotFoundError:
        return {}
    return dict(json.loads(recorded)) if recorded else {}


def _path(origin: dict[str, Any]) -> str:
    return unquote(urlsplit(origin["url"]).path)

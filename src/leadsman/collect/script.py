"""Prints a collector's probes as plain shell commands, for people who may not run us there."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leadsman.collect.collector import Probe

HEAD = """\
#!/bin/sh
# {title}.
# It reads only. Run it where the commands work, keep what it prints, and hand that to leadsman:
#   sh collect.sh > capture.txt; leadsman diagnose capture.txt
# Look through capture.txt for secrets first: leadsman masks what it shows, but this script masks nothing.
item() {{
  printf '### leadsman %s %s %s $ %s\\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" {subject} "$(printf %s "$1" | tr ' ' _)" "$2"
  sh -c "$2" 2>&1
  code=$?
  printf '\\n### leadsman exit %s\\n' "$code"
}}
"""


def script(title: str, probes: Iterable[Probe], subject: str = "") -> str:
    """Return a shell script whose output is a capture. `subject` is whom it is of; the host where it is empty."""
    whom = shlex.quote(subject) if subject else '"$(hostname)"'
    return HEAD.format(title=title, subject=whom) + "\n".join(map(_call, probes)) + "\n"


def _call(probe: Probe) -> str:
    if probe.listing is None:
        return f"item {shlex.quote(probe.file)} {shlex.quote(probe.command)}"
    names, listing = probe.listing
    within = probe.command.replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\`")
    file = f'"{probe.file}"' if "$" in probe.file else shlex.quote(probe.file)
    return f'{listing} | while read -r {names}; do item {file} "{within}" < /dev/null; done'

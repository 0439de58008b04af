"""Prints a collector's probes as a shell script, for hosts on which leadsman cannot be installed."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leadsman.collect.collector import Probe

HEAD = """\
#!/bin/sh
# {title}.
# The script changes nothing. Run it where the commands work, and diagnose its output:
#   sh collect.sh > capture.txt; leadsman diagnose capture.txt
# Look for secrets in capture.txt first: leadsman masks secrets in its output, but this script masks nothing.
subject={subject}
item() {{
  time=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  printf '### leadsman %s %s %s $ %s\\n' "$time" "${{3:-$subject}}" "$(printf %s "$1" | tr ' ' _)" "$2"
  sh -c "$2" 2>&1
  code=$?
  printf '\\n### leadsman exit %s\\n' "$code"
}}
"""


def shell_script(title: str, probes: Iterable[Probe], subject: str = "") -> str:
    """Return a shell script whose output is a capture. An empty `subject` stands for the host's name.

    A probe's own subject, such as an exporter's address, labels its section, as in a capture that leadsman collects.
    """
    subject_word = shlex.quote(subject) if subject else '"$(hostname)"'
    return HEAD.format(title=title, subject=subject_word) + "\n".join(map(_call, probes)) + "\n"


def _call(probe: Probe) -> str:
    if probe.listing is None:
        subject = f" {shlex.quote(probe.subject)}" if probe.subject else ""
        return f"item {shlex.quote(probe.file)} {shlex.quote(probe.command)}{subject}"
    names, listing, template, command = probe.listing
    quoted = command.replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\`")
    file = f'"{template}"' if "$" in template else shlex.quote(template)
    return f'{listing} | while read -r {names}; do item {file} "{quoted}" < /dev/null; done'

"""Names the service that wrote a log stream: not its file, pod or worker."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

NOT_A_SERVICE = re.compile(
    r"(?:\[[^\]]*\])?[0-9a-f-]{6,}|[\d._-]*|\[\$?LATEST\].*|\d{4}-\d\d-\d\d.*|[0-9a-f-]{36}"
    r"|(?:std(?:out|err)|console|output|server|app|application|main|logs?|exportedlogs|clients?|hosts?|services?|pods?"
    r"|containers?|workers?|metrics?|var|lambda|aws|current|latest|ip|(?:part-)?\d+)",
    re.IGNORECASE,
)
"""Parts of a path that name an instance, a date or a kind of file instead of a service."""

FILE_EXTENSIONS = re.compile(r"(?:\.(?:log|txt|json|jsonl|ndjson|out|err|prom|gz|zst|bz2|\d+))+$", re.IGNORECASE)
INSTANCE_SUFFIX = re.compile(
    r"(?:[-_.](?:json|(?=[a-f]*\d)[0-9a-f]{8,10}-[a-z0-9]{5}|\d+|(?=[a-z]*\d)[0-9a-f]{5,}|[0-9a-f]{6,}|(?=[a-z0-9]*\d)[bcdfghjklmnpqrstvwxz2456789]{4,10}|[bcdfghjklmnpqrstvwxz2456789]{5}))+$"
)
"""Suffixes of a service's name: a number, a hash, what Kubernetes appends to the names of pods."""


HOSTS_OR_PATH = re.compile(r"[ /:\[]")
"""A pair of hosts, or a path: names in which no part is a service."""


def service_name(subject: str, file: str = "") -> str:
    """Return the service in the name of a stream, else in its file's path; the stream's name where neither has one."""
    for part in (*reversed(subject.split("/")), *reversed(file.split("/")[:-1])):
        name = INSTANCE_SUFFIX.sub("", FILE_EXTENSIONS.sub("", part)).strip(" .-_")
        if name and not NOT_A_SERVICE.fullmatch(name):
            return name
    return subject


def count_services(streams: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return the number of streams per service, largest first; empty where any stream names no service.

    A stream is its subject and one of its files.
    """
    services = [(subject, service_name(subject, file)) for subject, file in streams]
    if any(
        " -> " in subject or (service == subject and HOSTS_OR_PATH.search(subject)) for subject, service in services
    ):
        return {}
    return dict(Counter(service for _, service in services).most_common())

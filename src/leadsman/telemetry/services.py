"""Which service wrote a stream: what people call it, and not the file, pod or worker that its lines came in."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

NO_NAME = re.compile(
    r"(?:\[[^\]]*\])?[0-9a-f-]{6,}|[\d._-]*|\[\$?LATEST\].*|\d{4}-\d\d-\d\d.*|[0-9a-f-]{36}"
    r"|(?:std(?:out|err)|console|output|server|app|application|main|logs?|exportedlogs|clients?|hosts?|services?|pods?"
    r"|containers?|workers?|metrics?|var|lambda|aws|current|latest|ip|(?:part-)?\d+)",
    re.IGNORECASE,
)
"""Parts of a path that name an instance, a date or a kind of file, and no service."""

ENDINGS = re.compile(r"(?:\.(?:log|txt|json|jsonl|ndjson|out|err|prom|gz|zst|bz2|\d+))+$", re.IGNORECASE)
INSTANCE = re.compile(
    r"(?:[-_.](?:json|(?=[a-f]*\d)[0-9a-f]{8,10}-[a-z0-9]{5}|\d+|(?=[a-z]*\d)[0-9a-f]{5,}|[0-9a-f]{6,}|(?=[a-z0-9]*\d)[bcdfghjklmnpqrstvwxz2456789]{4,10}|[bcdfghjklmnpqrstvwxz2456789]{5}))+$"
)
"""What stands behind a service's name: a number, a hash, what Kubernetes appends to pods."""


NAMES_NO_SERVICE = re.compile(r"[ /:\[]")
"""A pair of hosts, a path: what is left where no part of a name is a service's."""


def service_of(subject: str, file: str = "") -> str:
    """Return the service that a stream's name tells of, else its file's; the name itself where neither has one."""
    for part in (*reversed(subject.split("/")), *reversed(file.split("/")[:-1])):
        name = INSTANCE.sub("", ENDINGS.sub("", part)).strip(" .-_")
        if name and not NO_NAME.fullmatch(name):
            return name
    return subject


def services_of(streams: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return how many streams there are of each service, most first; of none where any stream names no service.

    A stream is its subject and a file of it.
    """
    named = [(subject, service_of(subject, file)) for subject, file in streams]
    if any(
        " -> " in subject or (service == subject and NAMES_NO_SERVICE.search(subject)) for subject, service in named
    ):
        return {}
    return dict(Counter(service for _, service in named).most_common())

"""Alerts and maintenance on the page: what monitoring and clouds reported of the captures, the newest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.words import in_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from typing import Any

NOTICES_SHOWN = 30

MAINTENANCE = {
    "migrate": "live migration",
    "terminate": "termination",
    "restart": "restart",
    "error": "failure of the host",
    "notice": "notice",
}
STATES = {names.ALERT_FIRING: "firing", names.ALERT_RESOLVED: "resolved"}
SHOWN = (names.HOST_MAINTENANCE, *STATES)
"""The events that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One alert or maintenance event: when, of which capture, and what, as a line."""

    at: datetime | None
    capture: str
    text: str


def notices_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Notice, ...]:
    """Return the notices of these events, the newest first. What was reported twice is one."""
    found = {Notice(at=_at(row), capture=row["capture"], text=_text(row)) for row in rows}
    return tuple(sorted(found, key=_newest_first)[:NOTICES_SHOWN])


def _newest_first(notice: Notice) -> tuple[bool, float, str]:
    return notice.at is None, -notice.at.timestamp() if notice.at else 0.0, notice.text


def _at(row: Mapping[str, Any]) -> datetime | None:
    return in_utc(row["at"]) if row["at"] else None


def _text(row: Mapping[str, Any]) -> str:
    labels = dict(row["labels"] or ())
    if row["name"] == names.HOST_MAINTENANCE:
        action = labels.get("action", "")
        host = labels.get("host") or row["subject"] or "a host that the event does not name"
        return f"{MAINTENANCE.get(action, action)}: {host} ({labels.get('provider', 'cloud')})"
    about = ", ".join(f"{name} {labels[name]}" for name in ("severity", "instance", "cluster") if labels.get(name))
    return f"alert {STATES[row['name']]}: {labels.get('alert', '')}" + (f" ({about})" if about else "")

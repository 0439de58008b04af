"""Conditions of hosts and processes: out of memory, killed, out of disk space, TLS certificates rejected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.conditions.kinds import is_ongoing, make_condition
from leadsman.pipeline.conditions.samples import HealthRule
from leadsman.words import join_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from leadsman.model.condition import Condition
    from leadsman.pipeline.conditions.episodes import Episode

PROCESS = "coalesce(labels['process'], labels['unit'], 'a process')"
KILLED = f"""
    concat_ws('|', coalesce(labels['scope'], ''), {PROCESS}, coalesce(labels['pid'], ''),
        coalesce(labels['rss_kb'], ''))
"""

RULES = (
    HealthRule(
        kind="out_of_memory",
        names=(names.MEMORY_EXHAUSTED, names.RUNTIME_OUT_OF_MEMORY),
        thing="subject",
        detail="coalesce(labels['reason'], labels['runtime'])",
    ),
    HealthRule(
        kind="oom_killed",
        names=(names.PROCESS_KILLED,),
        where="labels['reason'] = 'oom'",
        thing="subject",
        detail=KILLED,
    ),
    HealthRule(
        kind="process_killed",
        names=(names.PROCESS_KILLED,),
        where="labels['reason'] = 'signal'",
        thing="subject",
        detail=PROCESS,
    ),
    HealthRule(kind="disk_full", names=(names.DISK_FULL,), thing="subject"),
    HealthRule(
        kind="log_dir_failed",
        names=(names.LOG_DIR_FAILED,),
        where="labels['client_id'] IS NULL",
        thing="subject",
        detail="concat_ws('|', coalesce(labels['shutdown'], ''), coalesce(labels['dir'], ''))",
    ),
    HealthRule(
        kind="certificate",
        names=(names.CERTIFICATE_REJECTED,),
        thing="subject",
        detail="concat_ws('|', labels['reason'], labels['expired_at'])",
    ),
    HealthRule(kind="tls_failed", names=(names.TLS_FAILED,), thing="subject"),
    HealthRule(kind="host_frozen", names=(names.CLOCK_JUMPED,), thing="subject", amount="value"),
)

CERTIFICATE_REASONS = {
    "early": "A TLS certificate is not valid yet",
    "expired": "A TLS certificate expired",
    "presented_expired": "A TLS certificate has expired, by the alert of the side that it was presented to",
    "untrusted": "A TLS certificate is not trusted",
    "hostname": "A TLS certificate does not match the host name",
    "handshake": "TLS handshakes failed",
}
"""The most specific first."""

LASTING_REASONS = ("early", "expired", "presented_expired")
"""A certificate stays expired until it is replaced. Handshakes of port scanners fail at any time."""


def conditions(by_kind: Mapping[str, Sequence[Episode]], capture_end: datetime | None) -> Iterator[Condition]:
    """Yield the conditions of hosts and processes. `capture_end` is the last time that the capture covers."""
    failed = by_kind.get("log_dir_failed", ())
    if full := by_kind.get("disk_full"):
        yield make_condition(
            "disk_full", full, {**_figures(full), **_dirs(failed)}, ongoing=is_ongoing(full, capture_end)
        )
    elif failed:
        yield make_condition(
            "log_dir_failed", failed, {**_figures(failed), **_dirs(failed)}, ongoing=is_ongoing(failed, capture_end)
        )
    if killed := by_kind.get("oom_killed"):
        yield make_condition("oom_killed", killed, {**_figures(killed), **_killed(killed)})
    for kind in ("out_of_memory", "process_killed", "host_frozen"):
        if episodes := by_kind.get(kind):
            yield make_condition(kind, episodes, _figures(episodes))
    if rejected := [*by_kind.get("certificate", ()), *by_kind.get("tls_failed", ())]:
        yield _certificate(rejected, capture_end)


def _certificate(rejected: Sequence[Episode], capture_end: datetime | None) -> Condition:
    """Return why certificates were rejected; lines that name the reason are quoted first."""
    details = [detail.split("|") for episode in rejected for detail in episode.details]
    reasons = {reason for reason, *_ in details}
    reason = next((each for each in CERTIFICATE_REASONS if each in reasons), "handshake")
    dates = sorted({date[0] for each, *date in details if each == reason and date})
    things = list(dict.fromkeys(episode.thing for episode in rejected))
    by_reason = sorted(rejected, key=lambda episode: not any(detail.startswith(reason) for detail in episode.details))
    what = f"{CERTIFICATE_REASONS[reason]} ({join_names(dates)})" if dates else CERTIFICATE_REASONS[reason]
    return make_condition(
        "certificate",
        by_reason,
        {"what": what, "clients": len(things)},
        things=things,
        ongoing=reason in LASTING_REASONS or (reason != "handshake" and is_ongoing(rejected, capture_end)),
    )


def _dirs(failed: Sequence[Episode]) -> dict[str, float | str | None]:
    """Return the log directories that are out of service, and the brokers that shut down because none was left."""
    parts = [detail.split("|", 1) for episode in failed for detail in episode.details]
    return {
        "dirs": join_names(sorted({directory for _, directory in parts if directory})),
        "shutdown": join_names(
            sorted({episode.thing for episode in failed for each in episode.details if each.startswith("true|")})
        ),
    }


def _killed(episodes: Sequence[Episode]) -> dict[str, float | str | None]:
    """Return the killed process, and whether the host or its cgroup was out of memory, where one process was killed."""
    parts = [detail.split("|") for episode in episodes for detail in episode.details]
    victims = {(scope, name, pid, rss) for scope, name, pid, rss in parts if pid}
    figures: dict[str, float | str | None] = {"what": join_names(sorted({name for _, name, *_ in parts}))}
    if len(victims) == 1:
        scope, name, pid, rss = victims.pop()
        memory = f", anon-rss {int(rss):,} kB" if rss else ""
        key = {"host": "process", "cgroup": "limited_process"}.get(scope, "")
        figures |= {key: f"{name} (pid {pid}{memory})"} if key else {}
    return figures


def _figures(episodes: Sequence[Episode]) -> dict[str, float | str | None]:
    details = sorted({detail for episode in episodes for detail in episode.details})
    return {
        "lines": sum(episode.occurrences for episode in episodes),
        "hosts": episodes[0].thing_count,
        "what": join_names(details),
        "longest": max((episode.max_amount or 0.0 for episode in episodes), default=0.0),
    }

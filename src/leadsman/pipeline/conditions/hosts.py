"""Hosts and processes: out of memory, killed, out of disk space, with certificates that nobody accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.conditions.kinds import condition, goes_on
from leadsman.pipeline.conditions.signs import Sign
from leadsman.words import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from leadsman.condition import Condition
    from leadsman.pipeline.conditions.signs import Run

NAMED = "coalesce(labels['process'], labels['unit'], 'a process')"
KILLED = f"""
    concat_ws('|', coalesce(labels['scope'], ''), {NAMED}, coalesce(labels['pid'], ''), coalesce(labels['rss_kb'], ''))
"""

SIGNS = (
    Sign(
        kind="out_of_memory",
        names=(names.MEMORY_EXHAUSTED, names.RUNTIME_OUT_OF_MEMORY),
        thing="subject",
        detail="coalesce(labels['reason'], labels['runtime'])",
    ),
    Sign(
        kind="oom_killed",
        names=(names.PROCESS_KILLED,),
        where="labels['reason'] = 'oom'",
        thing="subject",
        detail=KILLED,
    ),
    Sign(
        kind="process_killed",
        names=(names.PROCESS_KILLED,),
        where="labels['reason'] = 'signal'",
        thing="subject",
        detail=NAMED,
    ),
    Sign(kind="disk_full", names=(names.DISK_FULL,), thing="subject"),
    Sign(
        kind="log_dir_failed",
        names=(names.LOG_DIR_FAILED,),
        where="labels['client_id'] IS NULL",
        thing="subject",
        detail="concat_ws('|', coalesce(labels['shutdown'], ''), coalesce(labels['dir'], ''))",
    ),
    Sign(
        kind="certificate",
        names=(names.CERTIFICATE_REJECTED,),
        thing="subject",
        detail="concat_ws('|', labels['reason'], labels['expired_at'])",
    ),
    Sign(kind="tls_failed", names=(names.TLS_FAILED,), thing="subject"),
    Sign(kind="host_frozen", names=(names.CLOCK_JUMPED,), thing="subject", amount="value"),
)

REASONS = {
    "early": "A TLS certificate is not valid yet",
    "expired": "A TLS certificate expired",
    "presented_expired": "A TLS certificate has expired, by the alert of the side that it was presented to",
    "untrusted": "A TLS certificate is not trusted",
    "hostname": "A TLS certificate does not match the host name",
    "handshake": "TLS handshakes failed",
}
"""The most telling first."""

FOR_GOOD = ("early", "expired", "presented_expired")
"""A certificate that has expired stays so until there is another one. Handshakes of scanners fail at any time."""


def conditions(found: Mapping[str, Sequence[Run]], end: datetime | None) -> Iterator[Condition]:
    """Yield what is wrong with hosts and processes. `end` is the last time of which the capture tells."""
    failed = found.get("log_dir_failed", ())
    if full := found.get("disk_full"):
        yield condition("disk_full", full, {**_figures(full), **_dirs(failed)}, stands=goes_on(full, end))
    elif failed:
        yield condition("log_dir_failed", failed, {**_figures(failed), **_dirs(failed)}, stands=goes_on(failed, end))
    if killed := found.get("oom_killed"):
        yield condition("oom_killed", killed, {**_figures(killed), **_killed(killed)})
    for kind in ("out_of_memory", "process_killed", "host_frozen"):
        if runs := found.get(kind):
            yield condition(kind, runs, _figures(runs))
    if rejected := [*found.get("certificate", ()), *found.get("tls_failed", ())]:
        yield _certificate(rejected, end)


def _certificate(rejected: Sequence[Run], end: datetime | None) -> Condition:
    """Return what certificates are refused for; lines that name the reason are quoted first."""
    details = [detail.split("|") for run in rejected for detail in run.details]
    reasons = {reason for reason, *_ in details}
    reason = next((each for each in REASONS if each in reasons), "handshake")
    dates = sorted({date[0] for each, *date in details if each == reason and date})
    things = list(dict.fromkeys(run.thing for run in rejected))
    telling = sorted(rejected, key=lambda run: not any(detail.startswith(reason) for detail in run.details))
    what = f"{REASONS[reason]} ({listed(dates)})" if dates else REASONS[reason]
    return condition(
        "certificate",
        telling,
        {"what": what, "clients": len(things)},
        things=things,
        stands=reason in FOR_GOOD or (reason != "handshake" and goes_on(rejected, end)),
    )


def _dirs(failed: Sequence[Run]) -> dict[str, float | str | None]:
    """Return the log directories that are out of service, and whether the broker shut down for want of them."""
    parts = [detail.split("|", 1) for run in failed for detail in run.details]
    return {
        "dirs": listed(sorted({directory for _, directory in parts if directory})),
        "shutdown": listed(sorted({run.thing for run in failed for each in run.details if each.startswith("true|")})),
    }


def _killed(runs: Sequence[Run]) -> dict[str, float | str | None]:
    """Return the process that was killed, and for whose want of memory, where it is one."""
    parts = [detail.split("|") for run in runs for detail in run.details]
    victims = {(scope, name, pid, rss) for scope, name, pid, rss in parts if pid}
    figures: dict[str, float | str | None] = {"what": listed(sorted({name for _, name, *_ in parts}))}
    if len(victims) == 1:
        scope, name, pid, rss = victims.pop()
        memory = f", anon-rss {int(rss):,} kB" if rss else ""
        key = {"host": "process", "cgroup": "limited"}.get(scope, "")
        figures |= {key: f"{name} (pid {pid}{memory})"} if key else {}
    return figures


def _figures(runs: Sequence[Run]) -> dict[str, float | str | None]:
    details = sorted({detail for run in runs for detail in run.details})
    return {
        "lines": sum(run.times for run in runs),
        "hosts": runs[0].things,
        "what": listed(details),
        "longest": max((run.most or 0.0 for run in runs), default=0.0),
    }

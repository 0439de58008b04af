"""The rule file of Prometheus: recorded signals, recorded rates, and alerts; one group for the signals, one a mode."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

from leadsman.prevent.alerts.signal import PREFIX

if TYPE_CHECKING:
    from datetime import timedelta

    from leadsman.prevent.alerts.alert import Alert
    from leadsman.prevent.alerts.coverage import Coverage, DeclaredAlert

RUNBOOK_URL = "https://github.com/leadsman/leadsman/blob/main/src/leadsman/modes/{mode}/page.md"
GENERAL_RUNBOOK_URL = "https://github.com/leadsman/leadsman/blob/main/docs/prevention.md"
GROUP = "leadsman {}"
MARK = {"rules": "leadsman"}
"""The label of all alerts: routes and inhibition of Alertmanager select by it."""

HOST = 'label_replace({expression}, "host", "$1", "instance", "(.+?)(:[0-9]+)?")'
"""An alert's `host`: its instance without the port, which several exporters of one host share."""

DURATION = re.compile(r"(?<=\[)(\d+)([smhd])(?=[\]:])|(?<=:)(\d+)([smhd])(?=\])|(?<=offset )(\d+)([smhd])\b")
"""The durations of a range, of a subquery's step, and of an offset."""

UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def rule_document(found: Coverage) -> dict[str, Any]:
    """Return the content of the rule file."""
    groups = [{"name": "leadsman signals", "rules": _signal_rules(found)}]
    seen: set[str] = set()
    for mode, alerts in groupby(found.covered, key=lambda each: each.mode):
        rules = [rule for each in alerts for rule in _alert_rules(each, seen)]
        groups.append({"name": GROUP.format(mode or "hosts and certificates"), "rules": rules})
    return {"groups": groups}


def _signal_rules(found: Coverage) -> list[dict[str, Any]]:
    return [
        {"record": f"{PREFIX}{name}", "expr": found.reading(name).expression(exporter)}
        for name, exporter in sorted(found.sources.items())
    ]


def _alert_rules(declared: DeclaredAlert, seen: set[str]) -> list[dict[str, Any]]:
    """Return the recordings of an alert that no other alert had before, and its rule."""
    alert = declared.alert
    new = {name: template for name, template in alert.recordings.items() if name not in seen}
    seen.update(new)
    recorded = [{"record": name, "expr": alert.filled(template)} for name, template in new.items()]
    return [*recorded, _alert_rule(alert, declared.mode)]


def _alert_rule(alert: Alert, mode: str) -> dict[str, Any]:
    for_clause = {"for": prometheus_duration(alert.for_duration)} if alert.for_duration else {}
    return {
        "alert": alert.name,
        "expr": HOST.format(expression=alert.filled(alert.expression)),
        **for_clause,
        "labels": {
            **MARK,
            "severity": str(alert.severity),
            "owner": str(alert.owner),
            **({"mode": mode} if mode else {}),
        },
        "annotations": {
            "summary": alert.summary,
            "description": f"{alert.meaning} {alert.action}",
            "threshold": threshold_text(alert),
            "command": alert.command,
            "runbook_url": RUNBOOK_URL.format(mode=mode) if mode else GENERAL_RUNBOOK_URL,
        },
    }


def threshold_text(alert: Alert) -> str:
    """Return each threshold with its reason, and the reason of the duration."""
    parts = [f"{each.name} {each.value:g}: {each.why}." for each in alert.thresholds]
    return " ".join([*parts, f"For {prometheus_duration(alert.for_duration)}: {alert.why_for_duration}"])


def prometheus_duration(duration: timedelta) -> str:
    """Return a duration as Prometheus writes it, in its largest whole unit: 15s, 10m, 1h."""
    seconds = round(duration.total_seconds())
    unit = next(each for each in ("d", "h", "m", "s") if not seconds % UNIT_SECONDS[each]) if seconds else "s"
    return f"{seconds // UNIT_SECONDS[unit]}{unit}"


def scaled(document: dict[str, Any], factor: float, *, mode: str = "") -> dict[str, Any]:
    """Return the rule file with all durations, or those of one mode, divided by a factor: the lab is so much faster."""
    groups = [
        {**group, "rules": [_scaled_rule(rule, factor) for rule in group["rules"]]}
        if not mode or group["name"] == GROUP.format(mode)
        else group
        for group in document["groups"]
    ]
    return {"groups": groups}


def _scaled_rule(rule: dict[str, Any], factor: float) -> dict[str, Any]:
    for_clause = (
        {"for": DURATION.sub(lambda found: _shorter(found, factor), f"[{rule['for']}]")[1:-1]} if "for" in rule else {}
    )
    return {**rule, "expr": DURATION.sub(lambda found: _shorter(found, factor), rule["expr"]), **for_clause}


def _shorter(found: re.Match[str], factor: float) -> str:
    number, unit = (part for part in found.groups() if part is not None)
    return f"{max(1, round(int(number) * UNIT_SECONDS[unit] / factor))}s"

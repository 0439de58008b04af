"""The fragment of an Alertmanager configuration: routes by owner and severity, and inhibition of symptoms by causes."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from leadsman.prevent.alerts.alert import Owner, Severity

if TYPE_CHECKING:
    from leadsman.prevent.alerts.coverage import Coverage

OURS = 'rules="leadsman"'
NOWHERE = "leadsman-nowhere"
"""The receiver of what is only context for other alerts: it is shown, and sends nothing."""

HOST_DOWN = "HostUnreachable"


def alertmanager_document(found: Coverage) -> dict[str, Any]:
    """Return the content of the fragment. Receivers are names without a destination: those are yours."""
    routes = [_route(owner, severity) for owner in Owner for severity in (Severity.PAGE, Severity.TICKET)]
    return {
        "route": {"receiver": NOWHERE, "group_by": ["alertname", "cluster"], "routes": routes},
        "receivers": [{"name": NOWHERE}, *({"name": route["receiver"]} for route in routes)],
        "inhibit_rules": [_host_inhibits(), *_cause_inhibits(found)],
    }


def _route(owner: Owner, severity: Severity) -> dict[str, Any]:
    return {
        "matchers": [OURS, f'owner="{owner}"', f'severity="{severity}"'],
        "receiver": f"leadsman-{owner}-{severity}",
        "group_wait": "10s" if severity is Severity.PAGE else "5m",
        "repeat_interval": "4h" if severity is Severity.PAGE else "3d",
    }


def _host_inhibits() -> dict[str, Any]:
    """Return the rule by which a host's failure does not page for what ran on it."""
    return {
        "source_matchers": [f'alertname="{HOST_DOWN}"'],
        "target_matchers": [OURS, f'alertname!="{HOST_DOWN}"', 'host!=""'],
        "equal": ["host"],
    }


def _cause_inhibits(found: Coverage) -> list[dict[str, Any]]:
    """Return one rule for each cause and set of equal labels."""
    present = {each.alert.name for each in found.covered}
    targets: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for each in found.covered:
        for cause in each.alert.symptom_of:
            if cause in present:
                targets[cause, each.alert.inhibited_by_equal].append(each.alert.name)
    return [_inhibit_rule(cause, equal, names) for (cause, equal), names in targets.items()]


def _inhibit_rule(cause: str, equal: tuple[str, ...], names: list[str]) -> dict[str, Any]:
    either = "|".join(names)
    return {
        "source_matchers": [f'alertname="{cause}"'],
        "target_matchers": [OURS, f'alertname=~"{either}"'],
        "equal": list(equal),
    }

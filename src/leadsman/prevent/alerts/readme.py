"""The README of the generated folder: one row for each alert, and what the chosen exporters cannot show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.prevent.alerts.alert import Owner, Severity
from leadsman.prevent.alerts.exporter import ALWAYS, SCOPES
from leadsman.prevent.alerts.rules import threshold_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.prevent.alerts.coverage import Coverage, DeclaredAlert

BEGIN = """{mark}

# Alerts on Kafka, for {exporters}

```sh
promtool check rules leadsman.rules.yml
promtool test rules leadsman.tests.yml leadsman.tests.days.yml   # broken fires, near misses stay silent
amtool check-config alertmanager.yml
```

Name `leadsman.rules.yml` under `rule_files` of Prometheus. `alertmanager.yml` is a fragment: copy its routes and
inhibition rules into your Alertmanager's configuration, and give its receivers a destination: {receivers}.

Scrape and evaluate every 15 s. Where Prometheus scrapes several clusters, give the targets of each a label `cluster`:
rules compare partitions and leaders within one `cluster`. Alerts of
`severity="info"` send nothing; they are context for the others.
"""
ROW = "| `{name}` | {severity}, {owner} | {meaning} | {threshold} | {action} `{command}` | {misses} |"


def readme_text(found: Coverage, mark: str) -> str:
    """Return the README."""
    receivers = ", ".join(f"`leadsman-{owner}-{each}`" for owner in Owner for each in (Severity.PAGE, Severity.TICKET))
    titles = "; ".join(SCOPES[each].title for each in found.exporters)
    begin = BEGIN.format(mark=mark, exporters=titles, receivers=receivers)
    return "\n".join([begin, *_alerts(found), "", *_not_covered(found), "", *_metrics(found), ""])


def _alerts(found: Coverage) -> Iterator[str]:
    yield "## Alerts"
    yield ""
    yield "| alert | severity, owner | what it reports | why this threshold | what to do | what it misses here |"
    yield "|---|---|---|---|---|---|"
    for each in found.covered:
        yield _row(found, each)


def _row(found: Coverage, declared: DeclaredAlert) -> str:
    alert = declared.alert
    readings = [found.reading(name) for name in alert.signals]
    misses = [alert.misses, *(f"{each.misses}." for each in readings if each.misses)]
    return ROW.format(
        name=alert.name,
        severity=alert.severity,
        owner=alert.owner,
        meaning=alert.meaning,
        threshold=threshold_text(alert),
        action=alert.action,
        command=alert.command,
        misses=" ".join(dict.fromkeys(filter(None, misses))) or "nothing known",
    )


def _not_covered(found: Coverage) -> Iterator[str]:
    yield "## Not covered"
    yield ""
    yield "| alert | what is missing |"
    yield "|---|---|"
    for name, reasons in found.not_covered.items():
        yield f"| `{name}` | {' '.join(reasons)} |"


def _metrics(found: Coverage) -> Iterator[str]:
    yield "## Metrics"
    yield ""
    yield "| recorded as | metric | where its name comes from |"
    yield "|---|---|---|"
    for name, exporter in sorted(found.sources.items()):
        reading = found.reading(name)
        metric = reading.metric.replace("|", "\\|")
        yield f"| `leadsman:{name}` | `{metric}` ({exporter}) | {reading.reference} |"
    if not set(found.exporters) - set(ALWAYS):
        yield ""

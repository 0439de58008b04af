"""The measured figures as tables: when alerts fired and ended, and what public rules did on the same runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leadsman.catalogue import every_alert

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

BEGIN = "<!-- written by python -m leadsman.lab.alerts; do not edit -->"
END = "<!-- until here -->"

HEAD = (
    "| run | alert | fired after | before or after the harm | ended after the cure | Alertmanager |",
    "|---|---|---|---|---|---|",
)


def render(measured: Mapping[str, Any]) -> str:
    """Return both tables, under what was measured and how."""
    ours = {each.alert.name for each in every_alert()}
    days = ", ".join(sorted({run["day"] for run in measured.values()}))
    conditions = (
        f"Measured on {days}, each run once, scrapes and evaluations every second. The durations "
        "of the mode's rules, and of public rules, are divided by the run's scale, as the incident's are; other "
        "rules run as they are written. Seconds are those of the lab."
    )
    tables = [conditions, "\n".join((*HEAD, *(row for run in measured.values() for row in _rows(run, ours))))]
    if any(run["against"] for run in measured.values()):
        tables.append("\n".join(_others(measured)))
    if any(run.get("panels") for run in measured.values()):
        tables.append("\n".join(_panels(measured)))
    return "\n\n".join(tables)


def _panels(measured: Mapping[str, Any]) -> Iterator[str]:
    """Return a row for each run that adds a panel with data: how many panels of each dashboard had data."""
    runs = list(_runs_with_new_data(measured))
    dashboards = list(dict.fromkeys(uid for run in runs for uid in run["panels"]))
    yield f"| panels with data | {' | '.join(f'`{uid}`' for uid in dashboards)} | without data |"
    yield f"|---|{'---|' * len(dashboards)}---|"
    for run in runs:
        panels = run["panels"]
        counts = (_count(panels.get(uid, {})) for uid in dashboards)
        empty = dict.fromkeys(title for each in panels.values() for title, has_data in each.items() if not has_data)
        yield f"| {_title(run)} | {' | '.join(counts)} | {'; '.join(empty) or 'none'} |"


def _count(panels: Mapping[str, bool]) -> str:
    """Return how many of the panels have data; a dashboard without a covered panel of its own is not written."""
    return f"{sum(panels.values())} of {len(panels)}" if panels else "not written"


def _runs_with_new_data(measured: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    seen: set[tuple[str, str]] = set()
    for run in measured.values():
        panels = run.get("panels", {}).items()
        filled = {(uid, title) for uid, titles in panels for title, has_data in titles.items() if has_data}
        if filled - seen:
            seen |= filled
            yield run


def _rows(run: Mapping[str, Any], ours: set[str]) -> Iterator[str]:
    title = f"{_title(run)}, scale {run['scale']:g}"
    fired = {name: figures for name, figures in run["alerts"].items() if name in ours}
    for name, figures in fired.items():
        yield (
            f"| {title} | `{name}` | {_after(figures)} | {_to_harm(run, figures)} | {_to_cure(run, figures)} "
            f"| {figures['notified'] or 'not sent'} |"
        )
    if not fired:
        yield f"| {title} | none | | {_no_harm(run)} | | |"


def _title(run: Mapping[str, Any]) -> str:
    variant, joined, change = run.get("title", run["variant"]).partition(" with ")
    return f"`{run['mode']}`, `{variant}`{joined}" + (f"`{change}`" if change else "")


def _after(figures: Mapping[str, Any]) -> str:
    return f"{figures['fired']:.0f} s" if figures["fired"] >= 0 else "before it began"


def _to_harm(run: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    if run["harmed"] is None:
        return _no_harm(run)
    lead = run["harmed"] - figures["fired"]
    return f"{abs(lead):.0f} s {'before' if lead >= 0 else 'after'}"


def _no_harm(run: Mapping[str, Any]) -> str:
    return (
        "no time of harm: " + ", ".join(f"{count} {kind}" for kind, count in run["harm"].items())
        if run["harm"]
        else "no harm"
    )


def _to_cure(run: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    if figures["ended"] is None:
        return "still firing"
    late = figures["ended"] - run["cured"]
    again = f", in {len(figures['spans'])} spans" if len(figures["spans"]) > 1 else ""
    return (f"{late:.0f} s" if late >= 0 else f"{-late:.0f} s before it") + again


def _others(measured: Mapping[str, Any]) -> Iterator[str]:
    """Return a row for each run, with a column for each public rule set."""
    files = sorted({file for run in measured.values() for file in run["against"]})
    yield f"| run | {' | '.join(file.removesuffix('.yml') for file in files)} |"
    yield f"|---|{'---|' * len(files)}"
    for run in measured.values():
        cells = (_fired(run, run["against"][file]) if file in run["against"] else "not run" for file in files)
        yield f"| {_title(run)} | {' | '.join(cells)} |"


def _fired(run: Mapping[str, Any], names: Iterable[str]) -> str:
    fired = [name for name in names if name in run["alerts"]]
    return ", ".join(_other(name, run["alerts"][name]) for name in fired) or "nothing"


def _other(name: str, figures: Mapping[str, Any]) -> str:
    """Return when a public alert fired, without the name of its file before its own."""
    when = "before the run" if figures["fired"] < 0 else f"after {round(figures['fired'])} s"
    return f"`{name.partition('/')[2]}` {when}"

"""The page's charts as SVG: money by month, and what each worker did over time."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

import matplotlib as mpl
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date
    from decimal import Decimal

    from matplotlib.axes import Axes

    from account_linking.demo.worker_timeline import WorkerGroup, WorkerHistory

CLASS_COLOURS: Final = {
    "spending": "#3b6ea8",
    "fees": "#b5483f",
    "cash": "#8a8f98",
    "debt_payment": "#c98a2b",
    "tax": "#6d5aa6",
    "uncategorized": "#b9bec6",
    "refund": "#4f9a6b",
}
"""The colours differ in lightness too."""

INK: Final = "#1c2430"
BUSY, FROZEN, FAILED, REPLACED = "#3b6ea8", "#c9ced6", "#b5483f", "#c98a2b"

MIN_FREEZE_SECONDS: Final = 1.0
"""Shorter pauses between two invocations are not drawn as freezes: they would only be dots."""

MIN_BAR_SECONDS: Final = 0.25
"""The narrowest bar: an invocation of some milliseconds must be visible."""


def money_chart(amounts: Mapping[tuple[str, date], Decimal], months: Sequence[date], currency: str) -> str:
    """Return stacked bars of spending, one bar for each month; refunds are below zero."""
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    tops, bottoms = [0.0] * len(months), [0.0] * len(months)
    for name, colour in CLASS_COLOURS.items():
        heights = [-float(amounts.get((name, month), 0)) for month in months]
        base = [top if height >= 0 else bottom for height, top, bottom in zip(heights, tops, bottoms, strict=True)]
        axes.bar([f"{month:%b %Y}" for month in months], heights, bottom=base, color=colour, label=name, width=0.7)
        tops = [top + max(0.0, height) for top, height in zip(tops, heights, strict=True)]
        bottoms = [bottom + min(0.0, height) for bottom, height in zip(bottoms, heights, strict=True)]
    axes.set_ylabel(f"spending, {currency}")
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    return _svg(figure)


def timeline_chart(group: WorkerGroup, *, began: float, ended: float) -> str:
    """Return a row for each worker: invocations, failed ones, freezes, and replaced producers. Unix seconds."""
    figure = Figure(figsize=(6.4, 0.9 + 0.55 * len(group.workers)), layout="constrained")
    axes = figure.subplots()
    for worker in group.workers:
        _draw_worker(axes, worker, -worker.number, began)
    axes.set_xlim(0, ended - began)
    axes.set_yticks([-worker.number for worker in group.workers], [f"worker {each.number}" for each in group.workers])
    axes.set_xlabel("seconds since the first invocation")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    return _svg(figure)


def _draw_worker(axes: Axes, worker: WorkerHistory, y: float, began: float) -> None:
    freezes = [(start - began, end - start) for start, end in worker.freezes if end - start >= MIN_FREEZE_SECONDS]
    axes.broken_barh(freezes, (y - 0.06, 0.12), color=FROZEN)
    for is_failed, colour, height in ((False, BUSY, 0.5), (True, FAILED, 0.8)):
        bars = [
            (each.began - began, max(each.ended - each.began, MIN_BAR_SECONDS))
            for each in worker.invocations
            if bool(each.error) is is_failed
        ]
        axes.broken_barh(bars, (y - height / 2, height), color=colour)
    times = [each.at - began for each in worker.replacements]
    axes.plot(times, [y + 0.4] * len(times), linestyle="none", marker="v", color=REPLACED, markersize=6)


def _svg(figure: Figure) -> str:
    """Return the figure as an SVG element. It is decoration to a screen reader: the tables say the same."""
    drawn = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "account-linking", "font.family": "sans-serif", "font.size": 10}):
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    text = drawn.getvalue()
    return f'<svg aria-hidden="true"{text[text.index("<svg") + 4 :]}'

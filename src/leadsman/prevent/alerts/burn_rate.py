"""Burn rates of an error budget over two windows, as in the SRE workbook, chapter 5: quick to fire, quick to end.

An alert fires where a long window shows that much of the budget is spent, and a short window that spending goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from leadsman.prevent.alerts.alert import MINUTE, TEN_MINUTES, Severity, Threshold

BUDGET = 0.001
"""One request in a thousand may fail: a service level of 99.9 %, the example of the SRE workbook. Set your own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPair:
    """A pair of windows. At `factor` times the budget's rate, `spent` of 30 days' budget is gone after the long one.

    `interval`, `broken_at` and `cured_at` are those of test cases, whose errors end after 60 intervals.
    """

    long: str
    short: str
    factor: float
    spent: str
    severity: Severity
    interval: str
    broken_at: str
    cured_at: str


FAST = WindowPair(
    long="1h",
    short="5m",
    factor=14.4,
    spent="2 %",
    severity=Severity.PAGE,
    interval=MINUTE,
    broken_at="70m",
    cured_at="80m",
)
SLOW = WindowPair(
    long="6h",
    short="30m",
    factor=6.0,
    spent="5 %",
    severity=Severity.TICKET,
    interval=TEN_MINUTES,
    broken_at="7h",
    cured_at="11h",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRatio:
    """Failed requests over all requests, by some labels; both are counters among the signals."""

    record: str
    failed: str
    total: str
    by: str

    def recordings(self, window: WindowPair) -> dict[str, str]:
        """Return the recording rules of the ratio over both windows."""
        return {self.name(span): self._ratio(span) for span in (window.short, window.long)}

    def name(self, span: str) -> str:
        """Return the recorded name of the ratio over a span."""
        return f"leadsman:{self.record}:ratio_rate{span}"

    def _ratio(self, span: str) -> str:
        failed, total = (
            f"sum by ({self.by}) (rate(leadsman:{signal}[{span}]))" for signal in (self.failed, self.total)
        )
        return f"{failed} / ({total} > 0)"

    def expression(self, window: WindowPair) -> str:
        """Return the alert's template: both windows spend the budget faster than the factor."""
        return " and ".join(f"({self.name(span)} > $factor * $budget)" for span in (window.long, window.short))


def thresholds(window: WindowPair) -> tuple[Threshold, ...]:
    """Return the thresholds of a burn-rate alert."""
    return (
        Threshold(
            name="factor",
            value=window.factor,
            why=f"at this rate {window.spent} of 30 days' budget is spent in {window.long} (SRE workbook, chapter 5)",
        ),
        Threshold(name="budget", value=BUDGET, why="one request in a thousand, a service level of 99.9 %"),
    )


AT_ONCE = timedelta(0)
WHY_AT_ONCE = "The two windows hold already: the long one for significance, the short one to end soon after the cure."

"""One HTML file: the incident with both workers, what no table took, and what the households earned and spent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from account_linking.demo import charts, incident
from account_linking.demo.console_summary import displayed_amount
from account_linking.demo.independent_reader import read_topic
from account_linking.demo.worker_timeline import worker_group
from account_linking.tables.quarantine import read_quarantine
from account_linking.topics import DEAD_LETTERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date
    from decimal import Decimal
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

    from account_linking.demo.balance import Balance
    from account_linking.demo.deployment import Deployment
    from account_linking.demo.worker_timeline import WorkerGroup
    from account_linking.tables.layout import Layout
    from account_linking.tables.quarantine import Quarantine

MAX_SAMPLES: Final = 5
"""Maximum of dead letters and quarantined records that are shown."""

WITH_PROVIDER: Final = "With leadsman_clients"
WITHOUT_PROVIDER: Final = "Without it (the incident)"


@dataclass(frozen=True, slots=True)
class DeadLetterSummary:
    """A dead letter: where it came from, and the reason. Its content is a person's data and is not shown."""

    kafka_position: str
    reason: str


@dataclass(frozen=True, slots=True)
class RateLimit:
    """What the providers answered: calls, answers 429 and 500, and the seconds of waiting that the 429s asked for."""

    calls: int
    limited: int
    errors: int
    waiting_seconds: float


@dataclass(frozen=True, slots=True)
class MoneySection:
    """The amounts of one currency: by class, an amount for each month."""

    currency: str
    months: Sequence[date]
    rows: Mapping[str, Sequence[Decimal | None]]
    chart: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class DayReport:
    """All that the page shows of a simulated day."""

    balance: Balance
    groups: Sequence[WorkerGroup]
    idle_limit_seconds: float
    rate_limit: RateLimit
    dead_letters: Sequence[DeadLetterSummary]
    quarantine: Quarantine
    money: Sequence[MoneySection]


def day_report(
    spark: SparkSession, layout: Layout, deployment: Deployment, balance: Balance, *, idle_limit_seconds: float
) -> DayReport:
    """Collect what the page shows, while broker, workers and Spark still run."""
    letters = read_topic(deployment.bootstrap, DEAD_LETTERS)
    counts = deployment.banks.call_counts
    return DayReport(
        balance=balance,
        groups=_worker_groups(deployment),
        idle_limit_seconds=idle_limit_seconds,
        rate_limit=RateLimit(
            counts.get("calls", 0), counts.get("429", 0), counts.get("500", 0), deployment.banks.retry_after_seconds
        ),
        dead_letters=[
            DeadLetterSummary(each.headers.get("from", ""), each.headers.get("reason", "")) for each in letters
        ],
        quarantine=read_quarantine(spark, layout, samples=MAX_SAMPLES),
        money=_money_sections(spark, layout),
    )


def _worker_groups(deployment: Deployment) -> list[WorkerGroup]:
    """Return the application's workers, and beside them those of the incident where the demo runs both."""
    application = deployment.mappings[1]
    if deployment.compared is None:
        is_incident = application.function.handler == incident.HANDLER
        return [worker_group(WITHOUT_PROVIDER if is_incident else WITH_PROVIDER, application)]
    return [worker_group(WITH_PROVIDER, application), worker_group(WITHOUT_PROVIDER, deployment.compared)]


def write_page(report: DayReport, path: Path) -> None:
    """Write the HTML page."""
    past = [each for group in report.groups for worker in group.workers for each in worker.invocations]
    began, ended = min(each.began for each in past), max(each.ended for each in past)
    timelines = [Markup(charts.timeline_chart(group, began=began, ended=ended)) for group in report.groups]  # noqa: S704 - matplotlib's own SVG
    template = _environment().get_template("page.html.j2")
    text = template.render(report=report, timelines=timelines, max_samples=MAX_SAMPLES)
    path.write_text(text, encoding="utf-8")


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("account_linking.demo"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _money_sections(spark: SparkSession, layout: Layout) -> list[MoneySection]:
    rows = spark.sql(
        "select currency, month, class, cast(sum(amount) as decimal(29,2)) as amount,"
        " cast(sum(money_in) as decimal(29,2)) as moved"
        f" from {layout.sql('monthly')} group by all order by currency, month, class"
    ).collect()
    currencies = sorted({row.currency for row in rows})
    return [_money_section(name, [row for row in rows if row.currency == name]) for name in currencies]


def _money_section(currency: str, rows: Sequence[Row]) -> MoneySection:
    months = sorted({row.month for row in rows})
    amounts = {(row["class"], row.month): displayed_amount(row["class"], row.amount, row.moved) for row in rows}
    classes = sorted({row["class"] for row in rows})
    return MoneySection(
        currency=currency,
        months=months,
        rows={name: [amounts.get((name, month)) for month in months] for name in classes},
        chart=Markup(charts.money_chart(amounts, months, currency)),  # noqa: S704 - matplotlib's own SVG
    )

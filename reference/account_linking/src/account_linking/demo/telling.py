"""Prints what is in the tables, and whether it is the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import Consumer, TopicPartition
from rich import box
from rich.table import Table

from account_linking.names import TRANSACTIONS
from account_linking.tables.layout import TABLES

if TYPE_CHECKING:
    from decimal import Decimal

    from pyspark.sql import SparkSession
    from rich.console import Console

    from account_linking.demo.balance import Balance
    from account_linking.demo.stage import Stage
    from account_linking.tables.layout import Layout

SHOWN = 5
"""How many names of a kind of difference are printed."""

TOO_WIDE = 100_000
"""Seven months of larger numbers do not fit into 80 columns."""

BOTH_LEGS = ("savings", "transfer_internal")
"""Classes whose two legs cancel out: what was moved is the sum of the legs that came in."""


def tell(spark: SparkSession, layout: Layout, running: Stage, *, say: Console) -> None:
    """Print how many rows each table holds, and two of the tables in short."""
    say.print(_sizes(spark, layout, running.bootstrap))
    say.print(_classes(spark, layout))
    say.print(_months(spark, layout))


def tell_balance(found: Balance, *, say: Console) -> None:
    """Print whether the tables are the ledger, and what differs if they are not."""
    differences = {
        "missing": found.missing,
        "surplus": found.surplus,
        "doubled": found.doubled,
        "of another amount": found.amounts,
    }
    for name, rows in differences.items():
        if rows:
            say.print(f"[bold red]{len(rows)} {name}[/]: {', '.join(rows[:SHOWN])}")
    totals = ", ".join(f"{amount:,.2f} {currency}" for currency, amount in sorted(found.total.items()))
    if found.even:
        say.print(
            f"[bold green]Balanced.[/] {found.transactions:,} transactions, each exactly once, to the cent: {totals}"
        )


def _sizes(spark: SparkSession, layout: Layout, bootstrap: str) -> Table:
    table = Table("table", "rows", title="What there is", title_justify="left", box=box.SIMPLE_HEAD)
    table.columns[1].justify = "right"
    for name in TABLES:
        table.add_row(name, f"{spark.read.format('delta').load(layout.path(name)).count():,}")
    table.add_row(f"topic {TRANSACTIONS}", f"{_records(bootstrap, TRANSACTIONS):,}")
    return table


def _records(bootstrap: str, topic: str) -> int:
    """Return how many records a topic holds. Spark writes without transactions: each offset is a record."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "sizes", "log_level": 0})
    first, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)
    consumer.close()
    return int(end) - int(first)


def _classes(spark: SparkSession, layout: Layout) -> Table:
    table = Table(
        "class",
        "transactions",
        "known by",
        title="What the transactions are",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    table.columns[1].justify = "right"
    for row in spark.sql(
        "select class, count(*) as n, concat_ws(', ', array_sort(collect_set(class_source))) as by "
        f"from {layout.sql('classified')} where not is_deleted group by class order by n desc"
    ).collect():
        table.add_row(row["class"], f"{row.n:,}", row.by)
    return table


def _months(spark: SparkSession, layout: Layout) -> Table:
    """Return the months of the currency that most users have."""
    monthly = layout.sql("monthly")
    most = f"select currency from {monthly} group by currency order by count(distinct user_ref) desc, currency limit 1"
    rows = spark.sql(
        "select month, class, currency, cast(sum(amount) as decimal(29,2)) as amount,"
        " cast(sum(money_in) as decimal(29,2)) as moved"
        f" from {monthly} where currency = ({most}) group by all order by month"
    ).collect()
    amounts = {(row["class"], row.month): shown(row["class"], row.amount, row.moved) for row in rows}
    unit, told = (1000, "thousand ") if max(map(abs, amounts.values()), default=0) >= TOO_WIDE else (1, "")
    title = f"What became of the money, {told}{rows[0].currency if rows else ''}, by class and month"
    table = Table("class", title=title, title_justify="left", box=box.SIMPLE_HEAD)
    months = sorted({row.month for row in rows})
    for month in months:
        table.add_column(f"{month:%b}", justify="right")
    for name in sorted({row["class"] for row in rows}):
        cells = (amounts.get((name, month)) for month in months)
        table.add_row(name, *("" if cell is None else f"{cell / unit:,.0f}" for cell in cells))
    return table


def shown(name: str, amount: Decimal, moved: Decimal) -> Decimal:
    """Return the amount of a class that is worth showing."""
    return moved if name in BOTH_LEGS else amount

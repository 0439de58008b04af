"""Prints summaries of the tables, and the differences between tables and ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import Consumer, TopicPartition
from deltalake import DeltaTable
from rich import box
from rich.table import Table

from account_linking.tables.layout import TABLES
from account_linking.topics import TRANSACTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from pyspark.sql import SparkSession
    from rich.console import Console

    from account_linking.demo.balance import Balance, Difference
    from account_linking.demo.deployment import Deployment
    from account_linking.demo.worker_timeline import WorkerGroup
    from account_linking.tables.layout import Layout

MAX_NAMES = 5
"""Maximum of differences that are printed for each column."""

MAX_AMOUNT = 100_000
"""From this amount on the table of months is in thousands: seven larger numbers do not fit into 80 columns."""

BOTH_LEGS = ("savings", "transfer_internal")
"""Classes whose two legs cancel out: the amount moved is the sum of the incoming legs."""


def print_tables(spark: SparkSession, layout: Layout, deployment: Deployment, *, console: Console) -> None:
    """Print the number of rows of each table, the classes, and the amounts by class and month."""
    console.print(_sizes_table(layout, deployment.bootstrap))
    console.print(_classes_table(spark, layout))
    console.print(_months_table(spark, layout))


def print_workers(groups: Sequence[WorkerGroup], *, console: Console) -> None:
    """Print what the workers did: beside each other, where the demo runs both kinds."""
    table = Table(
        "workers", *(each.name for each in groups), title="Workers", title_justify="left", box=box.SIMPLE_HEAD
    )
    for column in table.columns[1:]:
        column.justify = "right"
    table.add_row("invocations", *(f"{each.invocations:,}" for each in groups))
    table.add_row("longest freeze", *(f"{each.longest_freeze_seconds:.1f} s" for each in groups))
    table.add_row("producers replaced before use", *(str(each.replacements) for each in groups))
    table.add_row("failed invocations", *(_failed(each) for each in groups))
    table.add_row("longest delay by a failure", *(_delay(each) for each in groups))
    console.print(table)


def _failed(group: WorkerGroup) -> str:
    kinds = ", ".join(f"{count} {name}" for name, count in group.errors.items())
    return kinds or "0"


def _delay(group: WorkerGroup) -> str:
    return f"{group.longest_delay_seconds:.1f} s" if group.failed else "none"


def print_balance(balance: Balance, *, console: Console) -> None:
    """Print whether tables, topics and ledger agree, or the differences by table and column."""
    by_column: dict[tuple[str, str], list[Difference]] = {}
    for each in balance.differences:
        by_column.setdefault((each.table, each.column), []).append(each)
    for (table, column), found in by_column.items():
        console.print(f"[bold red]{len(found)} differences[/] in {table}, {column}:")
        for each in found[:MAX_NAMES]:
            console.print(f"  {each}", markup=False)
    if balance.is_balanced:
        totals = ", ".join(f"{amount:,.2f} {currency}" for currency, amount in sorted(balance.total.items()))
        console.print(
            f"[bold green]Tables, topics and ledger agree.[/] {balance.transactions:,} transactions, each exactly once,"
            f" to the cent: {totals}"
        )
        rows = ", ".join(f"{table} {count:,}" for table, count in balance.compared.items())
        console.print(
            f"{balance.values:,} values were compared, without Spark; hashes and versions by their form. Rows: {rows}",
            style="dim",
        )
    else:
        console.print("[bold red]Tables and ledger differ.[/]")


def _sizes_table(layout: Layout, bootstrap: str) -> Table:
    table = Table("table", "rows", title="Rows of the tables", title_justify="left", box=box.SIMPLE_HEAD)
    table.columns[1].justify = "right"
    for name in TABLES:
        table.add_row(name, f"{DeltaTable(layout.path(name)).count():,}")
    table.add_row(f"topic {TRANSACTIONS}", f"{_record_count(bootstrap, TRANSACTIONS):,}")
    return table


def _record_count(bootstrap: str, topic: str) -> int:
    """Return the number of records of a topic. Spark writes without transactions: each offset is a record."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "sizes", "log_level": 0})
    first, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)
    consumer.close()
    return int(end) - int(first)


def _classes_table(spark: SparkSession, layout: Layout) -> Table:
    table = Table(
        "class",
        "transactions",
        "class sources",
        title="Transactions by class",
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


def _months_table(spark: SparkSession, layout: Layout) -> Table:
    """Return the amounts by class and month, in the currency that most users have."""
    monthly = layout.sql("monthly")
    most = f"select currency from {monthly} group by currency order by count(distinct user_ref) desc, currency limit 1"
    rows = spark.sql(
        "select month, class, currency, cast(sum(amount) as decimal(29,2)) as amount,"
        " cast(sum(money_in) as decimal(29,2)) as moved"
        f" from {monthly} where currency = ({most}) group by all order by month"
    ).collect()
    amounts = {(row["class"], row.month): displayed_amount(row["class"], row.amount, row.moved) for row in rows}
    unit, scale = (1000, "thousand ") if max(map(abs, amounts.values()), default=0) >= MAX_AMOUNT else (1, "")
    title = f"Amounts by class and month, {scale}{rows[0].currency if rows else ''}"
    table = Table("class", title=title, title_justify="left", box=box.SIMPLE_HEAD)
    months = sorted({row.month for row in rows})
    for month in months:
        table.add_column(f"{month:%b}", justify="right")
    for name in sorted({row["class"] for row in rows}):
        cells = (amounts.get((name, month)) for month in months)
        table.add_row(name, *("" if cell is None else f"{cell / unit:,.0f}" for cell in cells))
    return table


def displayed_amount(name: str, amount: Decimal, moved: Decimal) -> Decimal:
    """Return the amount to show for a class: for two-legged classes the amount moved."""
    return moved if name in BOTH_LEGS else amount

"""One HTML file: what households earned, spent and saved, by class and month."""

from __future__ import annotations

import html
import io
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from account_linking.demo.console_summary import displayed_amount

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

    from account_linking.demo.balance import Balance
    from account_linking.tables.layout import Layout

CHART_CLASSES = ("spending", "fees", "cash", "debt_payment", "tax", "uncategorized", "refund")
COLOURS = ("#3b6ea8", "#b5483f", "#8a8f98", "#c98a2b", "#6d5aa6", "#b9bec6", "#4f9a6b")
"""In the order of CHART_CLASSES; the colours differ in lightness too."""

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1c2430;background:#fff}
h1{font-size:1.6rem}h2{font-size:1.15rem;margin-top:2.2rem}
figure{margin:1rem 0;overflow-x:auto}svg{max-width:100%;height:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}div{overflow-x:auto}
td,th{padding:.25rem .7rem;text-align:right;border-bottom:1px solid #dde1e7;white-space:nowrap}
td:first-child,th:first-child{text-align:left}.balanced{color:#1f7a43}.not-balanced{color:#b5483f}
@media(prefers-color-scheme:dark){body{background:#14181f;color:#dfe4ea}td,th{border-color:#313947}figure{background:#fff}}
"""


def write_page(spark: SparkSession, layout: Layout, path: Path, balance: Balance) -> None:
    """Write the HTML page."""
    rows = spark.sql(
        "select currency, month, class, cast(sum(amount) as decimal(29,2)) as amount,"
        " cast(sum(money_in) as decimal(29,2)) as moved"
        f" from {layout.sql('monthly')} group by all order by currency, month, class"
    ).collect()
    currencies = sorted({row.currency for row in rows})
    parts = [_section(name, [row for row in rows if row.currency == name]) for name in currencies]
    path.write_text(_document(balance, "".join(parts)), encoding="utf-8")


def _document(balance: Balance, body: str) -> str:
    result = (
        f'<p class="balanced">Tables, topics and ledger agree: {balance.transactions:,} transactions, each exactly'
        f" once, to the cent. {balance.values:,} values of {sum(balance.compared.values()):,} rows were compared.</p>"
        if balance.is_balanced
        else '<p class="not-balanced">'
        f"Tables and ledger differ in {len(balance.differences):,} values:"
        f" {len(balance.missing)} transactions missing, {len(balance.unexpected)} unexpected,"
        f" {len(balance.duplicates)} duplicate, {len(balance.wrong_amounts)} with a wrong amount.</p>"
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Account linking: a simulated day</title><style>{STYLE}</style>"
        f"<h1>Income and spending of the simulated households</h1>{result}"
        "<p>From the table <code>monthly</code>: posted transactions by month and class. Refunds are shown below zero."
        f" For savings and internal transfers it shows the amount moved: their two legs cancel out.</p>{body}</html>\n"
    )


def _section(currency: str, rows: Sequence[Row]) -> str:
    months = sorted({row.month for row in rows})
    amounts = {(row["class"], row.month): displayed_amount(row["class"], row.amount, row.moved) for row in rows}
    classes = sorted({row["class"] for row in rows})
    title = html.escape(str(currency))
    head = "".join(f"<th>{month:%b %Y}</th>" for month in months)
    body = "".join(
        f"<tr><td>{html.escape(name)}</td>{''.join(_cell(amounts.get((name, month))) for month in months)}</tr>"
        for name in classes
    )
    chart = _chart(amounts, months, currency)
    return f"<h2>{title}</h2><figure>{chart}</figure><div><table><tr><th></th>{head}</tr>{body}</table></div>"


def _cell(amount: object) -> str:
    return "<td></td>" if amount is None else f"<td>{amount:,.2f}</td>"


def _chart(amounts: Mapping[tuple[str, object], object], months: Sequence[object], currency: str) -> str:
    """Return an SVG of stacked bars of spending, one bar for each month; refunds are below zero."""
    with mpl.rc_context({"svg.hashsalt": "account-linking", "font.family": "sans-serif"}):
        figure = Figure(figsize=(9, 3.4), layout="constrained")
        axes = figure.subplots()
        tops, bottoms = [0.0] * len(months), [0.0] * len(months)
        for name, colour in zip(CHART_CLASSES, COLOURS, strict=True):
            heights = [-float(str(amounts.get((name, month), 0))) for month in months]
            base = [top if height >= 0 else bottom for height, top, bottom in zip(heights, tops, bottoms, strict=True)]
            axes.bar([f"{month:%b %Y}" for month in months], heights, bottom=base, color=colour, label=name, width=0.7)
            tops = [top + max(0.0, height) for top, height in zip(tops, heights, strict=True)]
            bottoms = [bottom + min(0.0, height) for bottom, height in zip(bottoms, heights, strict=True)]
        axes.set_ylabel(f"spending, {currency}")
        axes.axhline(0, color="#1c2430", linewidth=0.8)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=9)
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    return drawn.getvalue().partition("<svg")[1] + drawn.getvalue().partition("<svg")[2]

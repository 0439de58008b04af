# ruff: noqa: E501 - rows of a table, and SQL
"""Measures the account-linking application's translation and classification against DuckDB, for docs/performance.md.

python -m bench.accounts            500,000 transactions, several runs
python -m bench.accounts --smoke    20,000 transactions, one run, the table on the screen only

Both read the same Parquet files of raw provider records and write silver and `classified` with all columns, as Parquet.
Their rows are compared in all columns but the hashes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import simplejson
from bench import accounts_duckdb, page
from bench.measure import Job, in_turn, machine, ratios

from account_linking.demo.ledger import START
from account_linking.demo.ledger_generator import generate_households
from account_linking.demo.simulator import plaid, yodlee
from account_linking.tables import classify, translate
from account_linking.tables.layout import ACCOUNTS, OVERRIDES, SILVER, USER_RULES
from account_linking.tables.session import get_or_create_session
from leadsman.java.jars import fetch_jars

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from account_linking.demo.ledger import Movement, SimulatedItem

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "leadsman" / "bench"
ROWS = {"smoke": 20_000, "full": 500_000}
PER_HOUSEHOLD = 180
FILES = 8


def main() -> None:
    """Generate the records, warm up, measure both in turn, compare their rows, report."""
    parser = argparse.ArgumentParser(prog="python -m bench.accounts", description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="20,000 transactions and one run")
    parser.add_argument("--cores", type=int, default=2, help="cores for Spark and for DuckDB")
    options = parser.parse_args()
    size = "smoke" if options.smoke else "full"
    about = machine()
    folder = generate(CACHE / f"accounts-{size}", ROWS[size])
    spark = get_or_create_session(
        fetch_jars("spark-4.2"), {"spark.master": f"local[{options.cores}]", "spark.driver.memory": "2g"}
    )
    ours, theirs = (CACHE / f"accounts-{size}-{name}" for name in ("spark", "duckdb"))
    theirs.mkdir(exist_ok=True)
    jobs = [
        Job("Spark", partial(by_spark, spark, folder, ours)),
        Job("DuckDB", partial(accounts_duckdb.run, folder, theirs, options.cores)),
    ]
    for job in jobs:  # the first runs start workers, compile and fill caches
        job.run()
    in_turn(jobs, 1 if options.smoke else 5, lambda text: print(text, file=sys.stderr, flush=True))
    if jobs[0].facts != jobs[1].facts:
        raise SystemExit(f"Spark and DuckDB count different classes: {jobs[0].facts} and {jobs[1].facts}")
    if different := accounts_duckdb.differences(ours, theirs):
        raise SystemExit(f"Spark and DuckDB differ in {different:,} rows of `classified`.")
    text = report(jobs, rows=sum(jobs[0].facts.values()), about=about, cores=options.cores)
    print(text)
    if not options.smoke:
        page.put("accounts", text)


def generate(folder: Path, rows: int) -> Path:
    """Write raw records in the schema of bronze, half of Plaid and half of Yodlee; skipped if they exist."""
    if (folder / "_done").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    several = max(1, rows // PER_HOUSEHOLD // FILES // 2)
    for number in range(FILES):
        ledger = generate_households(number, per_provider=several, providers=("plaid", "yodlee"), months=6)
        records = [
            _record(item, movement, number)
            for item in ledger.items.values()
            for movement in ledger.live(item.id, 0.0).values()
        ]
        pq.write_table(pa.Table.from_pylist(records), folder / f"part-{number}.parquet")
    (folder / "_done").touch()
    return folder


def _record(item: SimulatedItem, movement: Movement, number: int) -> dict[str, object]:
    """Return one raw record. Ids repeat in every ledger, so the ledger's `number` is added to each id."""
    provider = item.provider
    value: dict[str, Any] | None
    if provider == "plaid":
        value = plaid.transaction(movement)
        value |= {name: f"{value[name]}-{number}" for name in ("transaction_id", "account_id")}
    else:
        value = yodlee.transaction(movement, item)
        assert value is not None  # nothing is pending in a history
        value |= {name: value[name] * FILES + number for name in ("id", "accountId")}
    return {
        "provider": provider,
        "entity": "transactions",
        "key": f"{provider}|{movement.account}-{number}",
        "value": simplejson.dumps(value, use_decimal=True),
        "item_ref": f"{number}-{item.id}",
        "user_ref": f"{number}-{item.user}",
        "op": "UPSERT",
        "revision": 1 << 20,
        "source_topic": f"provider.{provider}.transactions.raw",
        "source_partition": 0,
        "source_offset": 0,
        "received_at": START,
        "raw_sha256": "",
    }


def by_spark(spark: SparkSession, folder: Path, out: Path) -> Mapping[str, int]:
    """Translate and classify with the application's own code; silver is written and read again, as in the application."""
    good = translate.translate(spark.read.parquet(str(folder))).where("size(errors) = 0").select(*SILVER)
    good.write.mode("overwrite").parquet(str(out / "silver"))
    empty = {
        name: spark.sql(
            f"select {', '.join(f'cast(null as {kind}) as {column}' for column, kind in columns.items())} limit 0"
        )
        for name, columns in (("accounts", ACCOUNTS), ("overrides", OVERRIDES), ("rules", USER_RULES))
    }
    classified = classify.classify(silver=spark.read.parquet(str(out / "silver")), **empty, small=False)
    classified.write.mode("overwrite").parquet(str(out / "classified"))
    counts = spark.read.parquet(str(out / "classified")).groupBy("class").count()
    return {row["class"]: row["count"] for row in sorted(counts.collect())}


def report(jobs: list[Job], *, rows: int, about: Mapping[str, str], cores: int) -> str:
    """Return the page."""
    return "\n".join(_lines(jobs, rows=rows, about=about, cores=cores)) + "\n"


def _lines(jobs: list[Job], *, rows: int, about: Mapping[str, str], cores: int) -> Iterator[str]:
    ours, theirs = jobs
    middle, low, high = ratios(ours, theirs)
    yield "Raw records of two providers, from Parquet, through translation, the rules of quarantine, classification and the"
    yield "matching of transfers. Both write silver and `classified` with all columns, hashes and event ids, as Parquet; the"
    yield "rows are compared column by column, but for hashes.\n"
    yield f"- {rows:,} transactions, {cores} cores for each, {len(ours.wall)} runs in turn; medians"
    yield f"- {', '.join(f'{key}: {value}' for key, value in about.items())}"
    busy = max(max(job.others) for job in jobs)
    yield f"- pyspark {version('pyspark')}, DuckDB {version('duckdb')}; other programs kept up to {busy:.1f} cores busy meanwhile\n"
    yield "| | wall, s | CPU, s | rows a second |"
    yield "|---|---|---|---|"
    for job in jobs:
        cpu = sorted(job.cpu)[len(job.cpu) // 2]
        yield f"| {job.name} | {job.seconds:.2f} ({min(job.wall):.2f} to {max(job.wall):.2f}) | {cpu:.1f} | {rows / job.seconds:,.0f} |"
    yield f"\nSpark takes {1 / middle:.1f} times as long as DuckDB ({1 / high:.1f} to {1 / low:.1f})." if middle else ""


if __name__ == "__main__":
    main()

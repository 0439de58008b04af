# ruff: noqa: E501 - rows of a table, and SQL
"""Measures the account-linking application's translation and classification against DuckDB, for docs/performance.md.

python -m bench.accounts            500,000 transactions, several runs
python -m bench.accounts --smoke    20,000 transactions, one run, the table on the screen only

Both read the same Parquet files of raw provider records and end with the same counts by class; they are compared.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import simplejson
from bench import page
from bench.measure import Job, in_turn, machine, ratios

from account_linking.demo.history import households
from account_linking.demo.ledger import START
from account_linking.demo.simulator import plaid, yodlee
from account_linking.tables import classify, maps, translate
from account_linking.tables.layout import OVERRIDES, RULES, SILVER
from account_linking.tables.session import session
from leadsman.jars import fetch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from account_linking.demo.ledger import Item, Movement

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "leadsman" / "bench"
ROWS = {"smoke": 20_000, "full": 500_000}
PER_HOUSEHOLD = 180
FILES = 8


def main() -> None:
    """Generate, warm up, measure in turn, compare, report."""
    parser = argparse.ArgumentParser(prog="python -m bench.accounts", description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="20,000 transactions and one run")
    parser.add_argument("--cores", type=int, default=2, help="cores that both may use")
    asked = parser.parse_args()
    size = "smoke" if asked.smoke else "full"
    about = machine()
    folder = generate(CACHE / f"accounts-{size}", ROWS[size])
    spark = session(fetch("spark-4.2"), {"spark.master": f"local[{asked.cores}]", "spark.driver.memory": "2g"})
    jobs = [Job("Spark", partial(by_spark, spark, folder)), Job("DuckDB", partial(by_duckdb, folder, asked.cores))]
    for job in jobs:  # the first runs start workers, compile and fill caches
        job.run()
    in_turn(jobs, 1 if asked.smoke else 5, lambda text: print(text, file=sys.stderr, flush=True))
    if jobs[0].facts != jobs[1].facts:
        raise SystemExit(f"They disagree: {jobs[0].facts} against {jobs[1].facts}")
    told = report(jobs, rows=sum(jobs[0].facts.values()), about=about, cores=asked.cores)
    print(told)
    if not asked.smoke:
        page.put("accounts", told)


def generate(folder: Path, rows: int) -> Path:
    """Write raw records as bronze holds them, half of Plaid and half of Yodlee; once."""
    if (folder / "_done").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    several = max(1, rows // PER_HOUSEHOLD // FILES // 2)
    for number in range(FILES):
        ledger = households(number, per_provider=several, providers=("plaid", "yodlee"), months=6)
        records = [
            _record(item, movement, number)
            for item in ledger.items.values()
            for movement in ledger.live(item.id, 0.0).values()
        ]
        pq.write_table(pa.Table.from_pylist(records), folder / f"part-{number}.parquet")
    (folder / "_done").touch()
    return folder


def _record(item: Item, movement: Movement, number: int) -> dict[str, object]:
    """Return one raw record. Every ledger counts from one, so its `number` goes into all that must differ."""
    provider = item.provider
    told: dict[str, Any] | None
    if provider == "plaid":
        told = plaid.transaction(movement)
        told |= {name: f"{told[name]}-{number}" for name in ("transaction_id", "account_id")}
    else:
        told = yodlee.transaction(movement, item)
        assert told is not None  # nothing is pending in a history
        told |= {name: told[name] * FILES + number for name in ("id", "accountId")}
    return {
        "provider": provider,
        "entity": "transactions",
        "key": f"{provider}|{movement.account}-{number}",
        "value": simplejson.dumps(told, use_decimal=True),
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


def by_spark(spark: SparkSession, folder: Path) -> Mapping[str, int]:
    """Translate and classify with the application's own code."""
    good = translate.translate(spark.read.parquet(str(folder))).where("size(errors) = 0").select(*SILVER)
    empty = {
        name: spark.createDataFrame([], ", ".join(f"{column} {kind}" for column, kind in columns.items()))
        for name, columns in (("overrides", OVERRIDES), ("rules", RULES))
    }
    accounts = spark.sql("select 'none' as provider, 'none' as provider_account_id, 'none' as kind")
    classified = classify.of(silver=good, accounts=accounts, **empty)
    return {row["class"]: row["count"] for row in sorted(classified.groupBy("class").count().collect())}


def by_duckdb(folder: Path, cores: int) -> Mapping[str, int]:
    """Do the same in DuckDB, by SQL of its own dialect."""
    connection = duckdb.connect(config={"threads": cores})
    found = connection.execute(DUCKDB.format(files=f"{folder}/*.parquet", **_tables())).fetchall()
    return dict(sorted((name, count) for name, count in found))


def _tables() -> Mapping[str, str]:
    pairs = maps.by_category()
    table = pairs[pairs.index("map(") + 4 : pairs.index("), concat_ws")]
    names = [each.strip("' ") for each in table.split("', '")]
    rows = ", ".join(f"('{key}', '{value}')" for key, value in zip(names[::2], names[1::2], strict=True))
    return {
        "categories": rows,
        "by_mcc": maps.by_mcc().replace("try_cast(mcc as int)", "try_cast(mcc as integer)"),
        "by_words": re.sub(
            r"description_clean rlike r('[^']*')", r"regexp_matches(description_clean, \1)", maps.by_words()
        ),
    }


DUCKDB = """
with raw as (select *, value::json as j from read_parquet('{files}')),
plaid as (
  select provider, user_ref, j->>'transaction_id' as id, j->>'account_id' as account,
    -try_cast(j->>'amount' as decimal(19,4)) as amount, if((j->>'pending')::boolean, 'PENDING', 'POSTED') as status,
    j->>'iso_currency_code' as currency, j->>'unofficial_currency_code' as unofficial,
    coalesce(if((j->>'pending')::boolean, null, try_cast(j->>'date' as date)),
      try_cast(j->>'authorized_date' as date), try_cast(j->>'date' as date)) as day,
    coalesce(j->>'merchant_name', j->>'name') as text, null as mcc,
    j->'personal_finance_category'->>'primary' as top, j->'personal_finance_category'->>'detailed' as detail
  from raw where provider = 'plaid'),
yodlee as (
  select provider, user_ref, concat_ws(':', j->>'CONTAINER', j->>'id') as id, j->>'accountId' as account,
    case j->>'baseType' when 'DEBIT' then -1 when 'CREDIT' then 1 end * try_cast(j->'amount'->>'amount' as decimal(19,4)) as amount,
    if(j->>'status' in ('POSTED', 'CLEARED'), 'POSTED', j->>'status') as status,
    j->'amount'->>'currency' as currency, null as unofficial,
    coalesce(if(j->>'status' in ('POSTED', 'CLEARED'), try_cast(coalesce(j->>'postDate', j->>'date') as date), null),
      try_cast(coalesce(j->>'transactionDate', j->>'date') as date)) as day,
    coalesce(j->'description'->>'simple', j->'merchant'->>'name') as text, j->>'sourceMerchantCategoryCode' as mcc,
    j->>'categoryType' as top, j->>'subType' as detail
  from raw where provider = 'yodlee'),
rows_in as (select * from plaid union all select * from yodlee),
good as (
  select *, if(amount < 0, 'DEBIT', 'CREDIT') as direction, text as description_clean from rows_in
  where length(id) > 0 and length(account) > 0 and amount is not null and day is not null
    and (currency is null) <> (unofficial is null) and (currency is null or regexp_matches(currency, '^[A-Z]{{3}}$'))),
categories(name, class) as (values {categories}),
mapped as (
  select g.*, coalesce(c.class, d.class) as by_provider, {by_mcc} as by_mcc, {by_words} as by_words
  from good g left join categories c on c.name = concat_ws('|', g.provider, g.top, g.detail)
  left join categories d on d.name = concat_ws('|', g.provider, g.top, '*')),
free as (
  select *, concat_ws('|', provider, account, id) as leg, coalesce(currency, unofficial) as money from mapped
  where amount <> 0 and status in ('POSTED', 'PENDING') and coalesce(by_provider, 'uncategorized') in
    ('transfer_internal', 'transfer_external', 'savings', 'investment', 'debt_payment', 'uncategorized')),
pairs as (
  select o.leg as out_id, i.leg as in_id, abs(i.day - o.day) as apart from free o join free i
    on o.user_ref = i.user_ref and o.money = i.money and o.amount = -i.amount and o.amount < 0
   and (o.provider <> i.provider or o.account <> i.account) and abs(i.day - o.day) <= 4),
first as (select *, row_number() over (partition by out_id order by apart, in_id) as of_out,
                    row_number() over (partition by in_id order by apart, out_id) as of_in from pairs),
met as (select * from first where of_out = 1 and of_in = 1),
second as (select p.*, row_number() over (partition by p.out_id order by p.apart, p.in_id) as of_out,
                       row_number() over (partition by p.in_id order by p.apart, p.out_id) as of_in
           from pairs p anti join met m on p.out_id = m.out_id anti join met n on p.in_id = n.in_id),
all_met as (select out_id, in_id from met union all select out_id, in_id from second where of_out = 1 and of_in = 1),
sides as (select out_id as leg from all_met union all select in_id from all_met),
decided as (
  select m.amount, coalesce(if(s.leg is null, null, 'transfer_internal'), by_provider, by_mcc, by_words, 'uncategorized') as class
  from mapped m left join sides s on s.leg = concat_ws('|', m.provider, m.account, m.id))
select if(class = 'spending' and amount > 0, 'refund', class), count(*) from decided group by 1
"""


def report(jobs: list[Job], *, rows: int, about: Mapping[str, str], cores: int) -> str:
    """Return the page."""
    return "\n".join(_lines(jobs, rows=rows, about=about, cores=cores)) + "\n"


def _lines(jobs: list[Job], *, rows: int, about: Mapping[str, str], cores: int) -> Iterator[str]:
    ours, theirs = jobs
    middle, low, high = ratios(ours, theirs)
    yield "Raw records of two providers, from Parquet, through translation, the rules of quarantine, classification and the"
    yield "matching of transfers, to counts by class, which both must agree on.\n"
    yield f"- {rows:,} transactions, {cores} cores for each, {len(ours.wall)} runs in turn; medians"
    yield f"- {', '.join(f'{key}: {value}' for key, value in about.items())}"
    busy = max(max(job.others) for job in jobs)
    yield f"- pyspark {version('pyspark')}, DuckDB {version('duckdb')}; other programs kept up to {busy:.1f} cores busy meanwhile\n"
    yield "| | wall, s | processor, s | rows a second |"
    yield "|---|---|---|---|"
    for job in jobs:
        cpu = sorted(job.cpu)[len(job.cpu) // 2]
        yield f"| {job.name} | {job.seconds:.2f} ({min(job.wall):.2f} to {max(job.wall):.2f}) | {cpu:.1f} | {rows / job.seconds:,.0f} |"
    yield f"\nSpark takes {1 / middle:.1f} times as long as DuckDB ({1 / high:.1f} to {1 / low:.1f})." if middle else ""


if __name__ == "__main__":
    main()

# ruff: noqa: E501 - SQL reads better by the case
"""The account-linking application's translation and classification in DuckDB's own dialect, for bench.accounts.

Writes the same tables as the application: silver with all columns, and `classified` with hashes and event ids.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import duckdb

from account_linking.providers import every_provider
from account_linking.tables import maps
from account_linking.tables.classify import NAMESPACE
from account_linking.tables.layout import CLASSIFIED, CONTENT, SILVER
from account_linking.tables.translate import column_names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MADE_BY_HASH = ("content_sha256", "event_id", "class_version")
"""Columns that are not compared: each engine hashes its own JSON text."""


def run(folder: Path, out: Path, cores: int) -> Mapping[str, int]:
    """Translate and classify; return the counts by class."""
    connection = duckdb.connect(config={"threads": cores})
    connection.execute("set TimeZone = 'UTC'")
    connection.execute(SILVER_SQL.format(files=f"{folder}/*.parquet", out=out, **_translations()))
    connection.execute(CLASSIFIED_SQL.format(out=out, **_tables()))
    found = connection.execute(
        f"select class, count(*) from '{out}/classified.parquet' group by 1 order by 1"
    ).fetchall()
    return dict(found)


def differences(ours: Path, theirs: Path) -> int:
    """Return how many rows of `classified` only one of the two has, in all columns but MADE_BY_HASH."""
    columns = ", ".join(f'"{name}"' for name in CLASSIFIED if name not in MADE_BY_HASH)
    one = f"select {columns} from read_parquet('{ours}/classified/*.parquet')"
    other = f"select {columns} from '{theirs}/classified.parquet'"
    found = duckdb.execute(
        f"select (select count(*) from ({one} except all {other})) + (select count(*) from ({other} except all {one}))"
    ).fetchone()
    return int(found[0]) if found else 0


def _translations() -> Mapping[str, str]:
    """Return each provider's select list."""
    return {name: _select(name, columns) for name, columns in (("plaid", PLAID), ("yodlee", YODLEE))}


def _select(provider: str, columns: Mapping[str, str]) -> str:
    known = ", ".join(f"'{name}'" for name in column_names(every_provider()[provider].translation.schema))
    extra = (
        "map_from_entries(list_transform(list_filter(map_entries(json_transform(j, '\"MAP(VARCHAR,JSON)\"')), "
        f"lambda e: e.key not in ({known}) and e.value::varchar <> 'null'), "
        "lambda e: struct_pack(k := e.key, v := coalesce(e.value->>'$', e.value::varchar))))"
    )
    expressions = {**dict.fromkeys(CONTENT, "null"), **columns, "_extra": extra}
    select_list = (f'cast({expressions[name]} as {_type(name)}) as "{name}"' for name in SILVER if name in expressions)
    return ", ".join(select_list)


def _type(name: str) -> str:
    return {"string": "varchar", "map<string,string>": "map(varchar, varchar)"}.get(SILVER[name], SILVER[name])


def _tables() -> Mapping[str, str]:
    pairs = maps.by_category()
    table = pairs[pairs.index("map(") + 4 : pairs.index("), concat_ws")]
    names = [each.strip("' ") for each in table.split("', '")]
    rows = ", ".join(f"('{key}', '{value}')" for key, value in zip(names[::2], names[1::2], strict=True))
    content = ", ".join(f'"{name}"' for name in (*CONTENT, "class", "class_source", "is_deleted", "transfer_of"))
    return {
        "categories": rows,
        "by_mcc": maps.by_mcc().replace("try_cast(mcc as int)", "try_cast(mcc as integer)"),
        "by_words": re.sub(
            r"description_clean rlike r('[^']*')", r"regexp_matches(description_clean, \1)", maps.by_words()
        ),
        "content": ", ".join(f'"{name}" := "{name}"' for name in content.replace('"', "").split(", ")),
        "columns": ", ".join(f'"{name}"' for name in CLASSIFIED),
        "namespace": "".join(f"\\x{NAMESPACE.replace('-', '')[at : at + 2]}" for at in range(0, 32, 2)),
        "version": maps.version(),
    }


POSTED = "(j->>'status' in ('POSTED', 'CLEARED'))"
COMMON = {"is_deleted": "false", "schema_version": "1"} | {
    name: name
    for name in (
        "provider",
        "user_ref",
        "item_ref",
        "revision",
        "op",
        "source_topic",
        "source_partition",
        "source_offset",
        "received_at",
        "raw_sha256",
    )
}  # fmt: skip - one column a line

PLAID = COMMON | {
    "provider_account_id": "j->>'account_id'",
    "provider_transaction_id": "j->>'transaction_id'",
    "logical_transaction_id": "coalesce(j->>'pending_transaction_id', j->>'transaction_id')",
    "status": "if((j->>'pending')::boolean, 'PENDING', 'POSTED')",
    "raw_status": "j->>'pending'",
    "amount": "-try_cast(j->>'amount' as decimal(19,4))",
    "direction": "if(-try_cast(j->>'amount' as decimal(19,4)) < 0, 'DEBIT', 'CREDIT')",
    "currency": "j->>'iso_currency_code'",
    "unofficial_currency": "j->>'unofficial_currency_code'",
    "posted_date": "if((j->>'pending')::boolean, null, try_cast(j->>'date' as date))",
    "transaction_date": "coalesce(try_cast(j->>'authorized_date' as date), try_cast(j->>'date' as date))",
    "posted_at": "if((j->>'pending')::boolean, null, try_cast(j->>'datetime' as timestamp))",
    "authorized_at": "try_cast(j->>'authorized_datetime' as timestamp)",
    "description_raw": "coalesce(j->>'original_description', j->>'name')",
    "description_clean": "coalesce(j->>'merchant_name', j->>'name')",
    "counterparty_name": "coalesce(j->>'merchant_name', j->>'$.counterparties[0].name')",
    "counterparty_id": "coalesce(j->>'merchant_entity_id', j->>'$.counterparties[0].entity_id')",
    "counterparty_type": "j->>'$.counterparties[0].type'",
    "payment_channel": "j->>'payment_channel'",
    "check_number": "j->>'check_number'",
    "pending_of": "j->>'pending_transaction_id'",
    "category_system": "'plaid_pfc'",
    "category_version": "coalesce(j->>'$.personal_finance_category.version', 'v1')",
    "category_primary": "j->>'$.personal_finance_category.primary'",
    "category_detailed": "j->>'$.personal_finance_category.detailed'",
    "category_confidence": "j->>'$.personal_finance_category.confidence_level'",
}

SIGNED = "case j->>'baseType' when 'DEBIT' then -1 when 'CREDIT' then 1 end * try_cast(j->>'$.amount.amount' as decimal(19,4))"
YODLEE = COMMON | {
    "provider_account_id": "j->>'accountId'",
    "provider_transaction_id": "concat_ws(':', j->>'CONTAINER', j->>'id')",
    "logical_transaction_id": "concat_ws(':', j->>'CONTAINER', j->>'id')",
    "status": f"case when {POSTED} then 'POSTED' when j->>'status' in ('PENDING', 'SCHEDULED') then j->>'status' when j->>'status' = 'FAILED' then 'CANCELLED' else 'UNKNOWN' end",
    "raw_status": "j->>'status'",
    "amount": SIGNED,
    "direction": f"if({SIGNED} < 0, 'DEBIT', 'CREDIT')",
    "currency": "j->>'$.amount.currency'",
    "posted_date": f"if({POSTED}, try_cast(coalesce(j->>'postDate', j->>'date') as date), null)",
    "transaction_date": "try_cast(coalesce(j->>'transactionDate', j->>'date') as date)",
    "description_raw": "j->>'$.description.original'",
    "description_clean": "coalesce(j->>'$.description.simple', j->>'$.description.consumer', j->>'$.merchant.name', j->>'$.description.original')",
    "counterparty_name": "j->>'$.merchant.name'",
    "counterparty_id": "j->>'$.merchant.id'",
    "counterparty_type": "if(j->>'merchant' is null, null, 'merchant')",
    "mcc": "j->>'sourceMerchantCategoryCode'",
    "check_number": "j->>'checkNumber'",
    "category_system": "'yodlee'",
    "category_version": "'1'",
    "category_primary": "j->>'categoryType'",
    "category_detailed": "j->>'subType'",
}

SILVER_SQL = """
copy (
  with raw as (select *, value::json as j from read_parquet('{files}')),
  rows_in as (
    select {plaid} from raw where provider = 'plaid'
    union all by name select {yodlee} from raw where provider = 'yodlee')
  select * from rows_in
  where length(provider_transaction_id) > 0 and length(provider_account_id) > 0 and length(user_ref) > 0 and revision > 0
    and op in ('UPSERT', 'DELETE') and amount is not null and transaction_date is not null
    and (currency is null) <> (unofficial_currency is null)
    and (currency is null or regexp_matches(currency, '^[A-Z]{{3}}$'))
    and status in ('PENDING', 'POSTED', 'SCHEDULED', 'CANCELLED', 'UNKNOWN')
) to '{out}/silver.parquet' (format parquet)
"""

CLASSIFIED_SQL = """
copy (
  with categories(name, class) as (values {categories}),
  mapped as (
    select g.*, coalesce(c.class, d.class) as by_provider, {by_mcc} as by_mcc, {by_words} as by_words,
      concat_ws('|', provider, provider_account_id, provider_transaction_id) as leg
    from '{out}/silver.parquet' g
    left join categories c on c.name = concat_ws('|', g.provider, g.category_primary, g.category_detailed)
    left join categories d on d.name = concat_ws('|', g.provider, g.category_primary, '*')),
  free as materialized (
    select *, coalesce(currency, unofficial_currency) as money, coalesce(posted_date, transaction_date) as day from mapped
    where amount <> 0 and status in ('POSTED', 'PENDING') and coalesce(by_provider, 'uncategorized') in
      ('transfer_internal', 'transfer_external', 'savings', 'investment', 'debt_payment', 'uncategorized')),
  pairs as (
    select o.leg as out_id, i.leg as in_id, abs(i.day - o.day) as days_apart from free o join free i
      on o.user_ref = i.user_ref and o.money = i.money and o.amount = -i.amount and o.amount < 0
     and (o.provider <> i.provider or o.provider_account_id <> i.provider_account_id) and abs(i.day - o.day) <= 4),
  first as (select *, row_number() over (partition by out_id order by days_apart, in_id) as of_out,
                      row_number() over (partition by in_id order by days_apart, out_id) as of_in from pairs),
  first_pairs as (select * from first where of_out = 1 and of_in = 1),
  second as (select p.*, row_number() over (partition by p.out_id order by p.days_apart, p.in_id) as of_out,
                         row_number() over (partition by p.in_id order by p.days_apart, p.out_id) as of_in
             from pairs p anti join first_pairs m on p.out_id = m.out_id anti join first_pairs n on p.in_id = n.in_id),
  all_pairs as (select out_id, in_id from first_pairs union all select out_id, in_id from second where of_out = 1 and of_in = 1),
  legs as (select out_id as leg, in_id as transfer_of from all_pairs union all select in_id, out_id from all_pairs),
  decided as (
    select m.*, s.transfer_of,
      case when s.leg is not null then 'transfer' when by_provider is not null then 'provider'
           when by_mcc is not null then 'mcc' when by_words is not null then 'words' else 'none' end as class_source,
      coalesce(if(s.leg is null, null, 'transfer_internal'), by_provider, by_mcc, by_words, 'uncategorized') as decided
    from mapped m left join legs s using (leg)),
  chosen as (
    select *, if(decided = 'spending' and amount > 0, 'refund', decided) as class, '{version}' as class_version,
      if(class_source = 'provider', category_confidence, null) as class_confidence from decided),
  hashed as (select *, sha256(to_json(struct_pack({content}))::varchar) as content_sha256 from chosen),
  named as (select *, sha1('{namespace}'::blob || encode(concat_ws('|', leg, 'UPSERT', content_sha256))) as digest from hashed),
  with_ids as (
    select *, concat_ws('-', digest[1:8], digest[9:12], '5' || digest[14:16], '8' || digest[18:20], digest[21:32]) as event_id
    from named)
  select {columns} from with_ids
) to '{out}/classified.parquet' (format parquet)
"""

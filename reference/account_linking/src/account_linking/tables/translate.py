"""Translates each provider's schema to the generic schema, and checks the rules of each row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from account_linking.providers import every_provider
from account_linking.tables.layout import ACCOUNTS, CONTENT, KEY, LINEAGE, QUARANTINE, SILVER
from account_linking.tables.merge import latest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from account_linking.providers.model import Provider, Translation

SCHEMA_VERSION = 1
RULE_VERSION = 1

CLASSES = (
    "income",
    "spending",
    "savings",
    "investment",
    "transfer_internal",
    "transfer_external",
    "debt_payment",
    "fees",
    "refund",
    "cash",
    "tax",
    "uncategorized",
)  # fmt: skip - one class a line


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for every row. `condition` is SQL; null counts as false. `field` is reported with the row."""

    name: str
    field: str
    condition: str


RULES_FOR_ALL = (
    Rule("is_json", "value", "_corrupt is null and t is not null"),
    Rule("has_id", "provider_transaction_id", "length(provider_transaction_id) > 0"),
    Rule("has_account", "provider_account_id", "length(provider_account_id) > 0"),
    Rule("has_user", "user_ref", "length(user_ref) > 0"),
    Rule("has_revision", "revision", "revision > 0"),
    Rule("has_known_op", "op", "op in ('UPSERT', 'DELETE')"),
)
RULES_FOR_UPSERTS = (
    Rule("has_amount", "amount", "_amount is not null"),
    Rule("amount_fits", "amount", "_amount is null or amount = _amount"),
    Rule("has_one_currency", "currency", "(currency is null) <> (unofficial_currency is null)"),
    Rule("currency_is_iso", "currency", "currency is null or currency rlike '^[A-Z]{3}$'"),
    Rule("has_date", "transaction_date", "transaction_date is not null"),
    Rule("has_status", "status", "status in ('PENDING', 'POSTED', 'SCHEDULED', 'CANCELLED', 'UNKNOWN')"),
)
RULES = (
    *RULES_FOR_ALL,
    *(Rule(rule.name, rule.field, f"op = 'DELETE' or ({rule.condition})") for rule in RULES_FOR_UPSERTS),
)


def translate(bronze: DataFrame) -> DataFrame:
    """Return the transactions of all providers in the generic schema, each with `errors`: the rules that it breaks."""
    parts = [_translate_provider(bronze, provider) for provider in every_provider().values()]
    rows = reduce(lambda one, other: one.unionByName(other), parts)
    all_rules = " and ".join(f"coalesce({rule.condition}, false)" for rule in RULES)
    broken_rules = ", ".join(
        f"if(coalesce({rule.condition}, false), null, "
        f"named_struct('rule', '{rule.name}', 'field', '{rule.field}', 'value', cast({rule.field} as string)))"
        for rule in RULES
    )
    no_errors = f"cast(array() as {QUARANTINE['errors']})"  # nearly every row: avoids building the array of rules
    return rows.selectExpr(
        "*", f"if({all_rules}, {no_errors}, filter(array({broken_rules}), e -> e is not null)) as errors"
    )


def _translate_provider(bronze: DataFrame, provider: Provider) -> DataFrame:
    translation = provider.translation
    columns = {
        **dict.fromkeys(CONTENT, "null"),
        **LINEAGE_COLUMNS,
        **translation.columns,
        "provider": "provider",
        "is_deleted": "op = 'DELETE'",
        "_extra": _unknown_fields(translation),
        "amount": f"try_cast({translation.columns['amount']} as decimal(19,4))",
        "direction": f"if({translation.columns['amount']} < 0, 'DEBIT', 'CREDIT')",
        "logical_transaction_id": "coalesce("
        f"{translation.columns.get('pending_of', 'null')}, {translation.columns['provider_transaction_id']})",
    }
    select_list = [f"cast({columns[name]} as {kind}) as `{name}`" for name, kind in SILVER.items()]
    parsed = _parse(bronze, provider.name, "transactions", translation.schema)
    return parsed.selectExpr(
        "t",
        "t._corrupt as _corrupt",
        "value",
        f"{translation.columns['amount']} as _amount",
        "key",
        "entity",
        *select_list,
    ).transform(_clear_deleted)


LINEAGE_COLUMNS = {**{name: name for name in LINEAGE}, "schema_version": str(SCHEMA_VERSION)}


def _clear_deleted(rows: DataFrame) -> DataFrame:
    """Set the content of deleted rows to null: a tombstone keeps the key, and no data of the transaction."""
    cleared = {name: f"if(op = 'DELETE', null, `{name}`) as `{name}`" for name in (*CONTENT, "_extra")}
    return rows.selectExpr(
        *(cleared.get(name, f"`{name}`") for name in rows.columns if name != "t"), "if(t is null, null, true) as t"
    )


def _parse(bronze: DataFrame, provider: str, entity: str, schema: str) -> DataFrame:
    """Parse values to a struct `t`, amounts as decimals. A value that does not fit the schema is in `t._corrupt`."""
    ddl = " ".join(f"{schema}, _corrupt string".split())
    options = "map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '_corrupt')"
    # explode() stops Spark from pushing a filter on `t` below from_json, which would parse the value twice.
    return bronze.where(f"provider = '{provider}' and entity = '{entity}'").selectExpr(
        "*", f"explode(array(from_json(value, '{ddl}', {options}))) as t"
    )


def _unknown_fields(translation: Translation) -> str:
    """Return SQL of the provider's fields that the schema does not have."""
    known = ", ".join(f"'{name}'" for name in column_names(translation.schema))
    all_fields = "from_json(value, 'map<string,string>')"
    return f"map_filter({all_fields}, (k, v) -> k not in ({known}) and v is not null)"


def column_names(schema: str) -> list[str]:
    """Return the top-level column names of a DDL schema."""
    depth, names, start = 0, [], True
    word = ""
    for letter in f"{schema},":
        depth += letter in "<("
        depth -= letter in ">)"
        if start and not letter.isspace():
            word += letter
        elif start and word:
            names.append(word)
            start, word = False, ""
        if letter == "," and depth == 0:
            start, word = True, ""
    return names


def latest_accounts(bronze: DataFrame) -> DataFrame:
    """Return the latest revision of every account in these rows."""
    parts = []
    for provider in every_provider().values():
        columns = {
            "provider": "provider",
            "user_ref": "user_ref",
            "revision": "revision",
            **provider.translation.account_columns,
        }
        parsed = _parse(bronze, provider.name, "accounts", provider.translation.account_schema)
        parts.append(
            parsed.selectExpr(*(f"cast({columns[name]} as {kind}) as `{name}`" for name, kind in ACCOUNTS.items()))
        )
    rows = reduce(lambda one, other: one.unionByName(other), parts)
    known = rows.where("provider_account_id is not null and revision is not null")
    return latest(known, KEY[:2], "revision desc, user_ref desc")

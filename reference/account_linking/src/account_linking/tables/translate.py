"""From each provider's schema to the generic one, and which rows keep its rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from account_linking.providers import every_provider
from account_linking.tables.layout import ACCOUNTS, CONTENT, KEY, LINEAGE, QUARANTINE, SILVER

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
)  # fmt: skip - a list to look over


@dataclass(frozen=True, slots=True)
class Rule:
    """What must hold of a row. `holds` is SQL; null counts as broken. `field` is shown with the row."""

    name: str
    field: str
    holds: str


ALWAYS = (
    Rule("is_json", "value", "_corrupt is null and t is not null"),
    Rule("has_id", "provider_transaction_id", "length(provider_transaction_id) > 0"),
    Rule("has_account", "provider_account_id", "length(provider_account_id) > 0"),
    Rule("has_user", "user_ref", "length(user_ref) > 0"),
    Rule("has_revision", "revision", "revision > 0"),
    Rule("has_known_op", "op", "op in ('UPSERT', 'DELETE')"),
)
OF_UPSERTS = (
    Rule("has_amount", "amount", "_amount is not null"),
    Rule("amount_fits", "amount", "_amount is null or amount = _amount"),
    Rule("has_one_currency", "currency", "(currency is null) <> (unofficial_currency is null)"),
    Rule("currency_is_iso", "currency", "currency is null or currency rlike '^[A-Z]{3}$'"),
    Rule("has_date", "transaction_date", "transaction_date is not null"),
    Rule("has_status", "status", "status in ('PENDING', 'POSTED', 'SCHEDULED', 'CANCELLED', 'UNKNOWN')"),
)
RULES = (*ALWAYS, *(Rule(rule.name, rule.field, f"op = 'DELETE' or ({rule.holds})") for rule in OF_UPSERTS))


def translate(bronze: DataFrame) -> DataFrame:
    """Return transactions of all providers in the generic schema, each with the `errors` that keep it out of silver."""
    parts = [_translated(bronze, provider) for provider in every_provider().values()]
    rows = reduce(lambda one, other: one.unionByName(other), parts)
    fine = " and ".join(f"coalesce({rule.holds}, false)" for rule in RULES)
    broken = ", ".join(
        f"if(coalesce({rule.holds}, false), null, "
        f"named_struct('rule', '{rule.name}', 'field', '{rule.field}', 'value', cast({rule.field} as string)))"
        for rule in RULES
    )
    none = f"cast(array() as {QUARANTINE['errors']})"  # for nearly every row, and without a list of its rules
    return rows.selectExpr("*", f"if({fine}, {none}, filter(array({broken}), e -> e is not null)) as errors")


def _translated(bronze: DataFrame, provider: Provider) -> DataFrame:
    translation = provider.translation
    columns = {
        **dict.fromkeys(CONTENT, "null"),
        **LINEAGE_OF,
        **translation.columns,
        "provider": "provider",
        "is_deleted": "op = 'DELETE'",
        "_extra": _extra(translation),
        "amount": f"try_cast({translation.columns['amount']} as decimal(19,4))",
        "direction": f"if({translation.columns['amount']} < 0, 'DEBIT', 'CREDIT')",
        "logical_transaction_id": "coalesce("
        f"{translation.columns.get('pending_of', 'null')}, {translation.columns['provider_transaction_id']})",
    }
    chosen = [f"cast({columns[name]} as {kind}) as `{name}`" for name, kind in SILVER.items()]
    parsed = _parsed(bronze, provider.name, "transactions", translation.schema)
    return parsed.selectExpr(
        "t", "t._corrupt as _corrupt", "value", f"{translation.columns['amount']} as _amount", "key", "entity", *chosen
    ).transform(_blanked)


LINEAGE_OF = {**{name: name for name in LINEAGE}, "schema_version": str(SCHEMA_VERSION)}


def _blanked(rows: DataFrame) -> DataFrame:
    """Take the content out of deleted rows: a tombstone says that something is gone, and no more of what it was."""
    kept = {name: f"if(op = 'DELETE', null, `{name}`) as `{name}`" for name in (*CONTENT, "_extra")}
    return rows.selectExpr(
        *(kept.get(name, f"`{name}`") for name in rows.columns if name != "t"), "if(t is null, null, true) as t"
    )


def _parsed(bronze: DataFrame, provider: str, entity: str, schema: str) -> DataFrame:
    """Parse values to a struct `t`. Amounts go from text to decimal; what does not fit is in `t._corrupt`."""
    ddl = " ".join(f"{schema}, _corrupt string".split())
    told = "map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '_corrupt')"
    # Exploded, because a filter on what was parsed would otherwise be moved before the parsing, and parse once more.
    return bronze.where(f"provider = '{provider}' and entity = '{entity}'").selectExpr(
        "*", f"explode(array(from_json(value, '{ddl}', {told}))) as t"
    )


def _extra(translation: Translation) -> str:
    """Keep what the provider says and the schema does not know."""
    known = ", ".join(f"'{name}'" for name in names_of(translation.schema))
    said = "from_json(value, 'map<string,string>')"
    return f"map_filter({said}, (k, v) -> k not in ({known}) and v is not null)"


def names_of(schema: str) -> list[str]:
    """Return the top-level names of a DDL schema."""
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


def accounts(bronze: DataFrame) -> DataFrame:
    """Return the newest state of every account in these rows."""
    parts = []
    for provider in every_provider().values():
        columns = {
            "provider": "provider",
            "user_ref": "user_ref",
            "revision": "revision",
            **provider.translation.account_columns,
        }
        parsed = _parsed(bronze, provider.name, "accounts", provider.translation.account_schema)
        parts.append(
            parsed.selectExpr(*(f"cast({columns[name]} as {kind}) as `{name}`" for name, kind in ACCOUNTS.items()))
        )
    rows = reduce(lambda one, other: one.unionByName(other), parts)
    return newest(rows.where("provider_account_id is not null and revision is not null"), KEY[:2])


def newest(rows: DataFrame, key: tuple[str, ...]) -> DataFrame:
    """Return each key's row of the highest revision: Delta's MERGE takes one row a key."""
    ranked = f"row_number() over (partition by {', '.join(key)} order by revision desc) as _rank"
    return rows.selectExpr("*", ranked).where("_rank = 1").drop("_rank")

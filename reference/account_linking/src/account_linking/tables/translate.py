"""Translates each provider's schema to the generic schema, and checks the rules of each row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from account_linking.currencies import official, unofficial
from account_linking.providers import every_provider
from account_linking.tables import amounts, dates
from account_linking.tables.layout import ACCOUNTS, BRONZE, CONTENT, KEY, LINEAGE, QUARANTINE, SILVER
from account_linking.tables.merge import latest
from account_linking.topics import ENTITIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame

    from account_linking.providers.model import Provider, Translation

SCHEMA_VERSION = 2
RULE_VERSION = 2

DATES = ("posted_date", "transaction_date", "posted_at", "authorized_at")
MAX_ID_CHARACTERS = 512
EXACT_VALUES = ("amount", "direction", *DATES)
"""Columns that are made of the provider's text by a rule of the tables."""

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
class RowRule:
    """A rule for every row. `condition` is SQL; null counts as false. `field` is reported with the row.

    `shown` is SQL of the reported value, where it is not the field's.
    """

    name: str
    field: str
    condition: str
    shown: str = ""


NO_ID = r"\A([\[{]|(true|false|-?[0-9]+\.[0-9]+(E-?[0-9]+)?)\z)"
"""A JSON value that Spark reads as a text and that is no id: an object, an array, true, false, or a rounded number."""


def _is_id(column: str) -> str:
    """Return SQL that is true where a column is an id: a text, or a whole number, which Spark reads exactly."""
    return f"length({column}) between 1 and {MAX_ID_CHARACTERS} and not {column} rlike r'{NO_ID}'"


WHOLE_JSON = RowRule("is_json", "value", "coalesce(_is_json, false)")
HAS_ACCOUNT = RowRule("has_account", "provider_account_id", _is_id("provider_account_id"))
RULES_FOR_ENTITIES = (
    WHOLE_JSON,
    HAS_ACCOUNT,
    RowRule("has_user", "user_ref", "length(user_ref) > 0 and is_valid_utf8(user_ref)"),
    RowRule("has_revision", "revision", "revision > 0"),
)
RULES_FOR_ALL = (
    *RULES_FOR_ENTITIES,
    RowRule("has_id", "provider_transaction_id", _is_id("provider_transaction_id")),
    RowRule("has_known_op", "op", "op in ('UPSERT', 'DELETE')"),
)
RULES_FOR_UPSERTS = (
    RowRule("has_amount", "amount", "_amount is not null", "_amount"),
    RowRule("amount_is_number", "amount", f"_amount is null or {amounts.is_number('_amount')}", "_amount"),
    RowRule(
        "amount_fits",
        "amount",
        f"_amount is null or _exact is not null or not {amounts.is_number('_amount')}",
        "_amount",
    ),
    RowRule("amount_has_direction", "amount", "_sign is not null", "_amount"),
    RowRule("amount_in_minor_units", "amount", "_exact is null or _unit is null or _exact % _unit = 0", "_amount"),
    RowRule("has_one_currency", "currency", "(currency is null) <> (unofficial_currency is null)"),
    RowRule("currency_is_iso", "currency", amounts.is_known("currency", official())),
    RowRule("currency_is_known", "unofficial_currency", amounts.is_known("unofficial_currency", unofficial())),
    RowRule("has_date", "transaction_date", "_transaction_date is not null", "_transaction_date"),
    *(
        RowRule(f"is_{SILVER[name].replace('stamp', '')}", name, f"({name} is null) = (_{name} is null)", f"_{name}")
        for name in DATES
    ),
    RowRule("has_status", "status", "status in ('PENDING', 'POSTED', 'SCHEDULED', 'CANCELLED', 'UNKNOWN')"),
)
ROW_RULES = (
    *RULES_FOR_ALL,
    *(RowRule(rule.name, rule.field, f"op = 'DELETE' or ({rule.condition})", rule.shown) for rule in RULES_FOR_UPSERTS),
)
RULES_FOR_ACCOUNTS = (
    *RULES_FOR_ENTITIES,
    RowRule("has_kind", "raw_kind", "length(raw_kind) > 0"),
    RowRule("has_known_op", "op", "op = 'UPSERT'"),
)
KNOWN_PROVIDER = "has_known_provider"
RULE_NAMES = tuple(sorted({KNOWN_PROVIDER, *(rule.name for rule in (*ROW_RULES, *RULES_FOR_ACCOUNTS))}))


def translate(bronze: DataFrame) -> DataFrame:
    """Return the transactions of all providers in the generic schema, each with `errors`: the rules that it breaks."""
    parts = [_translate_provider(bronze, provider) for provider in every_provider().values()]
    rows = reduce(lambda one, other: one.unionByName(other), parts)
    return _with_errors(rows, ROW_RULES).select(*SILVER, "value", "key", "entity", "errors")


def translate_accounts(bronze: DataFrame) -> DataFrame:
    """Return the accounts of all providers in the generic schema, each with `errors`: the rules that it breaks."""
    parts = []
    for provider in every_provider().values():
        columns = {**dict.fromkeys(ACCOUNTS, "null"), **provider.translation.account_columns}
        columns |= {name: name for name in ("provider", "user_ref", "revision")}
        select_list = [f"cast({columns[name]} as {kind}) as `{name}`" for name, kind in ACCOUNTS.items()]
        rest = [name for name in BRONZE if name not in ACCOUNTS]
        parsed = _parse(bronze, provider.name, "accounts", provider.translation.account_schema)
        parts.append(parsed.selectExpr(*rest, _is_json("value"), *select_list))
    rows = reduce(lambda one, other: one.unionByName(other), parts)
    return _with_errors(rows, RULES_FOR_ACCOUNTS).drop("_is_json")


def records_with_errors(bronze: DataFrame, translated: DataFrame, accounts: DataFrame) -> DataFrame:
    """Return the raw records that no table takes, each with `errors`: none of them vanishes.

    `translated` and `accounts` are the translations of the same records.
    """
    known = ", ".join(f"'{name}'" for name in every_provider())
    entities = ", ".join(f"'{name}'" for name in ENTITIES)
    rule = RowRule(KNOWN_PROVIDER, "provider", f"provider in ({known}) and entity in ({entities})")
    foreign = bronze.where(f"not coalesce({rule.condition}, false)")
    parts = (translated, accounts, _with_errors(foreign, (rule,)))
    bad = [part.where("size(errors) > 0").select(*BRONZE, "errors") for part in parts]
    return reduce(lambda one, other: one.unionByName(other), bad)


def _with_errors(rows: DataFrame, rules: Sequence[RowRule]) -> DataFrame:
    all_rules = " and ".join(f"coalesce({rule.condition}, false)" for rule in rules)
    broken_rules = ", ".join(
        f"if(coalesce({rule.condition}, false), null, named_struct('rule', '{rule.name}', 'field', '{rule.field}',"
        f" 'value', cast({rule.shown or rule.field} as string)))"
        for rule in rules
    )
    no_errors = f"cast(array() as {QUARANTINE['errors']})"  # nearly every row: avoids building the array of rules
    return rows.selectExpr(
        "*", f"if({all_rules}, {no_errors}, filter(array({broken_rules}), e -> e is not null)) as errors"
    )


def _translate_provider(bronze: DataFrame, provider: Provider) -> DataFrame:
    """Return a provider's transactions: first all texts as the provider wrote them, then exact values of them."""
    translation = provider.translation
    columns = {
        **dict.fromkeys(CONTENT, "null"),
        **LINEAGE_COLUMNS,
        **translation.columns,
        "provider": "provider",
        "is_deleted": "op = 'DELETE'",
        "_extra": _unknown_fields(translation),
        "logical_transaction_id": "coalesce("
        f"{translation.columns.get('pending_of', 'null')}, {translation.columns['provider_transaction_id']})",
    }
    select_list = [
        f"cast({columns[name]} as {kind}) as `{name}`" for name, kind in SILVER.items() if name not in EXACT_VALUES
    ]
    texts = [f"cast({columns[name]} as string) as _{name}" for name in ("amount", *DATES)]
    parsed = _parse(bronze, provider.name, "transactions", translation.schema, numbers=translation.numbers)
    return (
        parsed.selectExpr(
            "value", "key", "entity", _is_json("value"), *texts, f"{_sign(translation)} as _sign", *select_list
        )
        .selectExpr("*", *_exact_values())
        .selectExpr("*", "case _sign when 1 then _exact when -1 then -_exact end as amount")
        .selectExpr("*", "if(amount < 0, 'DEBIT', 'CREDIT') as direction")
        .transform(_clear_deleted)
    )


LONE_SURROGATE = r"(?i)\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f])|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f]"
"""Half of a character outside of the basic plane, as an escape in JSON."""

LINEAGE_COLUMNS = {**{name: name for name in LINEAGE}, "schema_version": str(SCHEMA_VERSION)}


def _sign(translation: Translation) -> str:
    """Return SQL of the sign of a positive amount; null where the provider contradicts itself or does not say."""
    if not translation.is_absolute:
        return translation.sign
    return f"if(startswith({translation.columns['amount']}, '-'), null, {translation.sign})"


def _exact_values() -> Iterator[str]:
    yield f"{amounts.exact('_amount')} as _exact"
    yield f"{amounts.smallest_unit('currency', 'unofficial_currency')} as _unit"
    for name in DATES:
        exact = dates.exact_date if SILVER[name] == "date" else dates.exact_time
        yield f"{exact(f'_{name}')} as {name}"


def _clear_deleted(rows: DataFrame) -> DataFrame:
    """Set the content of deleted rows to null: a tombstone keeps the key, and no data of the transaction."""
    return rows.withColumns({name: F.expr(f"if(op = 'DELETE', null, `{name}`)") for name in (*CONTENT, "_extra")})


def _parse(bronze: DataFrame, provider: str, entity: str, schema: str, *, numbers: Sequence[str] = ()) -> DataFrame:
    """Parse values to a struct `t`. A value that does not fit the schema is in `t._corrupt`."""
    ddl = " ".join(f"{schema}, _corrupt string".split())
    options = (
        "map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '_corrupt',"
        " 'allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false')"
    )
    value = amounts.quote_numbers("value", numbers)
    # explode() stops Spark from pushing a filter on `t` below from_json, which would parse the value twice.
    return bronze.where(f"provider = '{provider}' and entity = '{entity}'").selectExpr(
        "*", f"explode(array(from_json({value}, '{ddl}', {options}))) as t"
    )


def _is_json(value: str) -> str:
    """Return SQL that is true where the value fits the schema, and nothing stands before or after it.

    Texts are UTF-8 without lone surrogates: Spark makes question marks of others, and one id of two. from_json()
    ignores what follows the document, so the value's hash, which the value cannot contain, is put behind it as the
    second element of an array, and must be found there.
    """
    second = f"get_json_object(concat('[', {value}, ',\"', raw_sha256, '\"]'), '$[1]')"
    is_unicode = f"is_valid_utf8({value}) and not {value} rlike r'{LONE_SURROGATE}'"
    return f"t is not null and t._corrupt is null and {is_unicode} and {second} = raw_sha256 as _is_json"


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


def latest_accounts(accounts: DataFrame) -> DataFrame:
    """Return the latest revision of every account."""
    return latest(accounts, KEY[:2], "revision desc, user_ref desc")

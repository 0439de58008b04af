"""Amounts and dates are exactly what the provider wrote, or quarantined: Python's decimal is the oracle."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Context, Decimal, Inexact
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from account_linking.currencies import official, unofficial
from account_linking.demo.fetch_harness import kafka_frame
from account_linking.demo.ledger import START
from account_linking.demo.sample_records import PURCHASE, raw_record
from account_linking.tables import dates
from account_linking.tables.amounts import exact, quote_numbers
from account_linking.tables.bronze import to_bronze
from account_linking.tables.translate import translate

from .drawn_examples import SLOW, drawn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Row, SparkSession

    from account_linking.requester.worker import Outgoing

EXACT = Context(prec=400, Emin=-9999, Emax=9999, traps=[Inexact])
JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]{1,2})?", re.ASCII)
CURRENCIES = (
    "USD",
    "JPY",
    "KWD",
    "CLF",
    "BTC",
    "ETH",
    "XMR",
    "usd",
    "",
    "POINTS",
    "XAU",
    "USD\n",
    "\uff35\uff33\uff24",
)


@dataclass(frozen=True)
class Case:
    """One amount as JSON, with the provider's direction. The currency is official for Plaid unless it is crypto."""

    provider: str
    token: str
    currency: str
    direction: str


def value_of(case: Case) -> str:
    """The provider's transaction, with the amount's token as it stands."""
    currency = json.dumps(case.currency)
    if case.provider == "plaid":
        names = ("null", currency) if case.currency in unofficial() else (currency, "null")
        return (
            f'{{"transaction_id":"t","account_id":"a","amount":{case.token},"iso_currency_code":{names[0]},'
            f'"unofficial_currency_code":{names[1]},"date":"2026-06-01","name":"amount","pending":false}}'
        )
    if case.provider == "yodlee":
        return (
            f'{{"CONTAINER":"bank","id":1,"accountId":2,"amount":{{"amount": {case.token} ,"currency":{currency}}},'
            f'"baseType":"{case.direction}","status":"POSTED","date":"2026-06-01"}}'
        )
    return (
        f'{{"transactionId":"t","accountId":"a","amount":{case.token},"currency":{currency},'
        f'"debitCreditMemo":"{case.direction}","status":"POSTED","postedTimestamp":"2026-06-01T00:00:00Z"}}'
    )


def expected(case: Case) -> Decimal | None:
    """The amount that silver must have; None: the row must be quarantined."""
    try:
        text = json.loads(case.token, parse_float=str, parse_int=str, parse_constant=lambda _: None)
    except ValueError:
        return None
    known = {**official(), **(unofficial() if case.provider == "plaid" else {})}
    units = known.get(case.currency)
    if not isinstance(text, str) or not JSON_NUMBER.fullmatch(text) or units is None:
        return None
    number = Decimal(text)
    if abs(number) >= Decimal(10) ** 15 or not is_multiple(number, units):
        return None
    if case.provider == "plaid":
        return number.copy_negate()  # unlike -number it does not round
    if text.startswith("-") or case.direction not in {"DEBIT", "CREDIT"}:
        return None
    return number.copy_negate() if case.direction == "DEBIT" else number


def is_multiple(number: Decimal, units: int) -> bool:
    """Whether a number has at most so many decimal places, zeros at the end not counted."""
    return EXACT.remainder(number, Decimal(1).scaleb(-units)) == 0


def is_long(token: str) -> bool:
    """Whether a number has more digits than any provider writes: it may be quarantined though it fits."""
    whole, _, fraction = token.strip('"-').lower().partition("e")[0].partition(".")
    return len(whole) > 40 or len(fraction.rstrip("0")) > 18 or len(fraction) > 58


NUMBERS = st.one_of(
    st.from_regex(r"\A-?(0|[1-9][0-9]{0,16})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?\Z", fullmatch=True),
    st.decimals(-(10**15), 10**15, places=2).map(str),
    st.decimals(-(10**9), 10**9, places=8).map(lambda number: f"{number:f}"),
    st.floats(allow_nan=False, allow_infinity=False).map(json.dumps),
    st.integers(-(10**17), 10**17).map(str),
)
TOKENS = r"""
-0 -0.00 0e5 -0e-9 0e+70 0e38 0.00e99 -0e99 1e2 1.0E7 1E+2 100e-2 125e-1 1e14 1e15 999999999999999.99 1000000000000000
10.00000000004 0.00000000004 0.1000000000000000000001 12.500000000000000000000000 1e-18 1e-19 1e-99 1e99 1e-9999999
1e-999999999 1e999999999 "12.50" "1.234,50" "1,234.50" "1_000" "12\n" "+5" "0x1F" "1f" "5d" "NaN" "Infinity" "1\u0032"
"-" "" "." "1e" "--1" "5-" "(5)" "$5" true null [] [5] {} {"amount":5} NaN Infinity -Infinity +5 05 -05 .5 5. 1.2.3
1-2 0x1F 1e
"""
NASTY = [
    *TOKENS.split(),
    '"1 000"',
    '" 12"',
    '"12 "',
    "5 5",
    '"\u0661\u0662"',
    '"\uff11\uff12"',
    '"\u0967\u0968.5"',
    '"\u22125"',
    "\u0665",
]
CASES = st.builds(
    Case,
    st.sampled_from(["plaid", "yodlee", "fdx"]),
    NUMBERS | st.sampled_from(NASTY) | NUMBERS.map(json.dumps),
    st.sampled_from(CURRENCIES) | st.sampled_from(sorted(official())) | st.sampled_from(sorted(unofficial())),
    st.sampled_from(["DEBIT", "CREDIT", "DEBIT", "CREDIT", "MEMO", "debit", ""]),
)
ALL_NASTY = [
    Case(provider, token, currency, "DEBIT")
    for token in NASTY
    for provider, currency in (("plaid", "USD"), ("plaid", "BTC"), ("yodlee", "JPY"), ("fdx", "KWD"))
]


def translated(spark: SparkSession, records: Sequence[Outgoing]) -> list[Row]:
    """The translated rows, in the order of the records."""
    frame = kafka_frame(spark, list(enumerate(records)))
    columns = ("source_offset", "amount", "direction", "errors", "currency", "unofficial_currency", *DATES)
    return sorted(translate(to_bronze(frame)).select(*columns).collect(), key=lambda row: row.source_offset)


DATES = ("posted_date", "transaction_date", "posted_at", "authorized_at")


def check(spark: SparkSession, cases: Sequence[Case]) -> None:
    rows = translated(spark, [raw_record(value_of(case), provider=case.provider) for case in cases])

    assert [row.source_offset for row in rows] == list(range(len(cases)))
    for case, row in zip(cases, rows, strict=True):
        amount = None if row.errors else row.amount
        assert amount == expected(case) or (amount is None and is_long(case.token)), (case, row)
        assert row.errors or row.direction == ("DEBIT" if row.amount < 0 else "CREDIT")


def test_an_amount_is_exact_or_quarantined(spark: SparkSession) -> None:
    examples = drawn(st.lists(CASES, min_size=60, max_size=90), 5, derandomize=False)

    check(spark, [*ALL_NASTY, *(case for cases in examples for case in cases)])


@pytest.mark.long
@pytest.mark.timeout(3600)
@given(st.lists(CASES, min_size=60, max_size=90))
@settings(max_examples=300, deadline=None, suppress_health_check=SLOW)
def test_many_more_amounts_are_exact_or_quarantined(spark: SparkSession, cases: list[Case]) -> None:
    check(spark, cases)


def test_every_reason_names_the_text_that_the_provider_wrote(spark: SparkSession) -> None:
    cases = {
        Case("plaid", "10.00000000004", "USD", ""): ("amount_in_minor_units", "10.00000000004"),
        Case("plaid", "0.5", "JPY", ""): ("amount_in_minor_units", "0.5"),
        Case("plaid", '"1.234,50"', "EUR", ""): ("amount_is_number", "1.234,50"),
        Case("plaid", "1e400", "EUR", ""): ("amount_is_number", "1e400"),
        Case("plaid", "1e15", "EUR", ""): ("amount_fits", "1e15"),
        Case("yodlee", "-5", "EUR", "DEBIT"): ("amount_has_direction", "-5"),
        Case("fdx", "5", "EUR", "MEMO"): ("amount_has_direction", "5"),
        Case("plaid", "null", "EUR", ""): ("has_amount", None),
        Case("plaid", "5", "USD\n", ""): ("currency_is_iso", "USD\n"),
        Case("plaid", "5", "", ""): ("currency_is_iso", ""),
    }

    rows = translated(spark, [raw_record(value_of(case), provider=case.provider) for case in cases])

    assert [[(error.rule, error.value) for error in row.errors] for row in rows] == [[each] for each in cases.values()]


def test_a_member_is_read_exactly_however_its_name_is_written_and_texts_stay(spark: SparkSession) -> None:
    values = [
        r'{"\u0061mount": 0.1000000000000000000001, "x": 1}',
        r'{"amoun\u0074"' + "\t:\n" + "1e5}",
        r'{"name": "\"amount\": 5", "amount":1.50}',
        r'{"name": "amount", "other": 5, "amount" : -7.0}',
        r'{"name": "x\\", "amount":2.0}',
        r'{"amount":{"amount":3.0}}',
    ]

    quoted = spark.createDataFrame([(value,) for value in values], "value string").selectExpr(
        f"{quote_numbers('value', ['amount'])} as value"
    )

    found = [json.loads(row.value) for row in quoted.collect()]
    originals = [json.loads(value, parse_float=str) for value in values]
    originals[3]["other"] = 5
    assert found == originals


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_the_pattern_of_a_number_changes_no_other_text(document: Any) -> None:
    pattern = re.search(r"r'(.*)', '\$1", quote_numbers("value", ["amount"]))
    assert pattern
    text = json.dumps({"amount": 1.5, "rest": document, "name": '"amount": 5'})

    quoted = json.loads(re.sub(pattern[1], r'\1"\2"', text))

    assert without_amounts(quoted) == without_amounts(json.loads(text))


def without_amounts(document: Any) -> Any:
    if isinstance(document, dict):
        return {name: without_amounts(value) for name, value in document.items() if name != "amount"}
    return [without_amounts(each) for each in document] if isinstance(document, list) else document


def test_an_exponent_of_nine_digits_takes_no_time(spark: SparkSession) -> None:
    texts = ["1e-999999999", "1E999999999", "0." + "0" * 900 + "1", "9" * 900]

    found = spark.createDataFrame([(text,) for text in texts], "text string").selectExpr(f"{exact('text')} as amount")

    assert [row.amount for row in found.collect()] == [None] * 4


# Currencies


def test_minor_units_are_those_of_the_java_virtual_machine(spark: SparkSession) -> None:
    jvm: Any = spark.sparkContext._jvm

    currencies = jvm.java.util.Currency.getAvailableCurrencies().toArray()
    theirs = {each.getCurrencyCode(): each.getDefaultFractionDigits() for each in currencies}

    assert {code: units for code, units in official().items() if theirs.get(code, units) != units} == {}
    assert len(official().keys() & theirs.keys()) > 170
    assert not official().keys() & unofficial().keys()


# Dates

MONTHS = st.integers(0, 13).map(lambda month: f"{month:02}")
DAY_TEXTS = st.one_of(
    st.dates().map(str),
    st.dates(date(1895, 1, 1), date(1905, 1, 1)).map(str),
    st.dates(START.date() + timedelta(days=350), START.date() + timedelta(days=380)).map(str),
    st.builds("{:04}-{}-{:02}".format, st.integers(1890, 2030), MONTHS, st.integers(0, 33)),
    st.dates(date(1999, 1, 1)).map(lambda day: f"{day}T23:59:59-05:00"),
    st.sampled_from(
        ["2026", "2026-06", "2026-6-1", "0000-01-01", "0001-01-01", "10000-01-01", "+2026-06-01", "today", ""]
    ),
    st.sampled_from(
        [
            "2026-06-01\n",
            " 2026-06-01",
            "2026-06-01 ",
            "2026-06-01T",
            "2026-06-01Tx",
            "\uff12\uff10\uff12\uff16-06-01",
            "20260601",
        ]
    ),
    st.sampled_from(["2026-06-01T00:00:00Z", "2026-06-01 00:00:00", "2026-06-01T25:00:00Z", "1/6/2026", "2026-W23-1"]),
)
LATEST = date(START.year + 1, START.month, START.day + 1)


def expected_day(text: str) -> date | None:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:]{8}(Z|[-+][0-9:]{5}))?", text, re.ASCII):
        return None
    try:
        day = date.fromisoformat(text[:10])
    except ValueError:
        return None
    return day if date(1900, 1, 1) <= day <= LATEST else None


def test_a_date_is_complete_and_plausible_or_the_row_is_quarantined(spark: SparkSession) -> None:
    examples = drawn(st.lists(DAY_TEXTS, min_size=60, max_size=90), 5, derandomize=False)
    texts = [text for example in examples for text in example]
    values = [
        json.dumps({**PLAID, "date": text, "authorized_date": None if number % 2 else "2026-05-30"})
        for number, text in enumerate(texts)
    ]

    rows = translated(spark, [raw_record(value) for value in values])

    for number, (text, row) in enumerate(zip(texts, rows, strict=True)):
        found = None if row.errors else row.posted_date
        assert found == expected_day(text), (text, row)
        assert row.errors or row.transaction_date == (found if number % 2 else date(2026, 5, 30))


PLAID = {**PURCHASE, "amount": 1}


def test_a_time_is_complete_or_the_row_is_quarantined(spark: SparkSession) -> None:
    texts = {
        "2026-06-01T12:00:00Z": True,
        "2026-06-01T12:00:00.123456+02:00": True,
        "2026-06-01T12:00:00": True,
        "2026": False,
        "2026-06-01": False,
        "12:00:00": False,
        "0001-01-01T00:00:00Z": False,
        "9999-12-31T23:59:59Z": False,
        "2026-06-01T24:00:00Z": False,
        "2026-06-01T12:00:00+99:00": False,
    }
    records = [raw_record(json.dumps({**PLAID, "datetime": text})) for text in texts]

    rows = translated(spark, records)

    assert [not row.errors for row in rows] == list(texts.values())
    assert {error.rule for row in rows for error in row.errors} == {"is_time"}


def test_the_latest_date_depends_on_when_the_record_came() -> None:
    assert "received_at" in dates.exact_date("text")
    assert "current" not in dates.exact_date("text")


TAILS = (" ", "\n", "x", "{}", ",", "]", "}", "],[{", ',{"a":1}', "\x00", "// comment", '"', "null")


@pytest.fixture(scope="module")
def rows_with_tails(spark: SparkSession) -> dict[str, Row]:
    """The row of a transaction's JSON with each tail, all translated at once."""
    rows = translated(spark, [raw_record(json.dumps(PLAID) + tail) for tail in TAILS])
    return dict(zip(TAILS, rows, strict=True))


@pytest.mark.parametrize("tail", TAILS, ids=range(13))
def test_nothing_may_stand_after_the_json_but_space(rows_with_tails: dict[str, Row], tail: str) -> None:
    row = rows_with_tails[tail]

    assert [error.rule for error in row.errors] == ([] if tail.isspace() else ["is_json"])

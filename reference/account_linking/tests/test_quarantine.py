"""No record vanishes: each is a row, is superseded by a later one, or is in quarantine with a reason."""

from __future__ import annotations

import io
import json
import shutil
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from account_linking.demo.deployment import linked_items
from account_linking.demo.fetch_harness import FetchHarness
from account_linking.demo.ledger_generator import generate_day, generate_households
from account_linking.demo.sample_records import PURCHASE, ingest_records, raw_record
from account_linking.demo.simulator.banks import FaultInjection, SimulatedBanks
from account_linking.store import SqliteStore
from account_linking.tables import translate
from account_linking.tables.__main__ import main
from account_linking.tables.layout import Layout
from account_linking.tables.quarantine import read_quarantine
from account_linking.tables.rebuild import Rebuilt, rebuild
from account_linking.topics import raw_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

    from account_linking.requester.worker import Outgoing

PROVIDERS = ("plaid", "yodlee", "fdx")
JUNK: list[Any] = [
    None,
    True,
    -0.5,
    10**30,
    "",
    "x",
    "1.234,50",
    "2026",
    "0000-01-01",
    "USD\n",
    [],
    [1],
    {},
    {"a": 1},
    "\ud800",
]


def real_records(folder: Path, seed: int) -> list[Outgoing]:
    """The raw records of all providers: a month of history, then a day of changes, fetched as they came."""
    ledger = generate_households(seed, per_provider=1, providers=PROVIDERS, months=1)
    banks = SimulatedBanks(ledger, FaultInjection(), now=-1.0)
    store = SqliteStore(folder / f"items-{seed}.sqlite")
    store.add(linked_items(banks))
    harness = FetchHarness(banks, store)
    for item in ledger.items:
        harness.fetch(item)
    for change in generate_day(ledger, seed, per_item=6, lasts=3000):
        harness.apply_changes(change)
    for item in ledger.items:
        harness.fetch(item)
    return harness.records


def replace_a_value(record: Outgoing, random: Random) -> Outgoing:
    document = json.loads(record.value)
    parent = document
    name = random.choice(list(parent))
    while isinstance(parent[name], dict) and parent[name] and random.random() < 0.7:
        parent = parent[name]
        name = random.choice(list(parent))
    parent[name] = random.choice(JUNK)
    return replace(record, value=json.dumps(document).encode())


def drop_a_value(record: Outgoing, random: Random) -> Outgoing:
    document = json.loads(record.value)
    del document[random.choice(list(document))]
    return replace(record, value=json.dumps(document).encode())


def change_a_byte(record: Outgoing, random: Random) -> Outgoing:
    at = random.randrange(len(record.value))
    return replace(record, value=record.value[:at] + random.randbytes(1) + record.value[at + 1 :])


def cut(record: Outgoing, random: Random) -> Outgoing:
    return replace(record, value=record.value[: random.randrange(len(record.value))])


def append(record: Outgoing, random: Random) -> Outgoing:
    return replace(record, value=record.value + random.choice([b"x", b"{}", record.value, b"],[{", b"\n"]))


def damage_headers(record: Outgoing, random: Random) -> Outgoing:
    headers = dict(record.headers)
    name = random.choice([*headers, "revision", "op"])
    headers[name] = random.choice([b"", b"x", b"-1", b"\xff", b"99999999999999999999"])
    if random.random() < 0.3:
        del headers[name]
    return replace(record, headers=tuple(headers.items()))


def move(record: Outgoing, random: Random) -> Outgoing:
    """Put the record into another provider's topic, of one that no code knows, or among the other entity."""
    provider = random.choice([*PROVIDERS, "mystery", "plaid_eu"])
    return replace(record, topic=raw_topic(provider, random.choice(["transactions", "accounts"])))


DAMAGES = (replace_a_value, replace_a_value, drop_a_value, change_a_byte, cut, append, damage_headers, move)


def damaged(records: Sequence[Outgoing], random: Random) -> list[Outgoing]:
    """Half of the records damaged, some repeated, in random order."""
    found = [random.choice(DAMAGES)(each, random) if random.random() < 0.5 else each for each in records]
    found += random.choices(found, k=len(found) // 10)
    random.shuffle(found)
    return found


def table(spark: SparkSession, layout: Layout, name: str) -> list[Row]:
    return spark.read.format("delta").load(layout.path(name)).collect()


TRANSACTION_KEYS: dict[str, Callable[[dict[str, Any]], tuple[str, str]]] = {
    "plaid": lambda value: (value["account_id"], value["transaction_id"]),
    "yodlee": lambda value: (str(value["accountId"]), f"{value['CONTAINER']}:{value['id']}"),
    "fdx": lambda value: (value["accountId"], value["transactionId"]),
}
ACCOUNT_KEYS = {"plaid": "account_id", "yodlee": "id", "fdx": "accountId"}


def outcome_of(record: Outgoing, offset: int, places: dict[str, Any]) -> str:
    """What became of a record, by the tables' contents: this reads the JSON on its own."""
    if offset in places["quarantine"]:
        assert offset not in places["silver_offsets"]
        return "quarantined"
    _, provider, entity, _ = record.topic.split(".")
    value, revision = json.loads(record.value), int(dict(record.headers)["revision"])
    if entity == "accounts":
        found = places["accounts"][provider, str(value[ACCOUNT_KEYS[provider]])]
        assert found >= revision
        return "row" if found == revision else "superseded"
    row = places["silver"][(provider, *map(str, TRANSACTION_KEYS[provider](value)))]
    assert row.revision >= revision
    return "row" if row.source_offset == offset else "superseded"


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long), pytest.param(3, marks=pytest.mark.long)])
def test_records_in_are_rows_and_quarantined_and_superseded(
    spark: SparkSession, layout: Layout, tmp_path: Path, seed: int
) -> None:
    records = damaged(real_records(tmp_path, seed), Random(seed))
    half = len(records) // 2

    ingest_records(spark, layout, records[:half])
    ingest_records(spark, layout, records[half:], offset=half)

    silver, quarantine = table(spark, layout, "silver"), table(spark, layout, "quarantine")
    places = {
        "quarantine": {row.source_offset for row in quarantine},
        "silver_offsets": {row.source_offset for row in silver},
        "silver": {(row.provider, row.provider_account_id, row.provider_transaction_id): row for row in silver},
        "accounts": {(row.provider, row.provider_account_id): row.revision for row in table(spark, layout, "accounts")},
    }
    outcomes = Counter(outcome_of(record, offset, places) for offset, record in enumerate(records))
    assert sum(outcomes.values()) == len(table(spark, layout, "bronze")) == len(records)
    assert outcomes["quarantined"] == len(quarantine) > len(records) // 5
    assert outcomes["superseded"] > 0
    assert len(silver) > 30
    assert all(row.errors and all(error.rule and error.field for error in row.errors) for row in quarantine)


account = partial(raw_record, entity="accounts")

GOOD = {"account_id": "a", "type": "depository", "subtype": "checking", "name": "Checking"}
BAD_ACCOUNTS = {
    "has_account": account({**GOOD, "account_id": None}),
    "is_json": account(b'{"account_id": "a"'),
    "has_user": account(GOOD, user=""),
    "has_kind": account({"account_id": "a", "transaction_id": "t", "amount": 5}),
    "has_revision": account(GOOD, revision="x"),
    "has_known_op": account(GOOD, op="DELETE"),
    "has_known_provider": account(GOOD, provider="mystery"),
}
"""By the rule that each breaks."""

TRANSACTION = {**PURCHASE, "name": "SECRET"}
POINTS = {"transaction_id": "points", "iso_currency_code": None, "unofficial_currency_code": "POINTS"}
FEE = {"primary": "BANK_FEES", "detailed": "BANK_FEES_ATM_FEES", "version": "v2"}
TRANSACTIONS = [
    raw_record({**TRANSACTION, "transaction_id": "fee", "personal_finance_category": FEE}),
    raw_record({**TRANSACTION, **POINTS}),
    raw_record({**TRANSACTION, "amount": 0.125}),
    raw_record({**TRANSACTION, "date": "2026\x1b[2J"}),
    raw_record(b'{"name": "SECRET'),
]
"""The first breaks only a rule that is too strict, the second one that a new currency's name cures."""

RECORDS = [*BAD_ACCOUNTS.values(), account(GOOD, revision="7"), account(b"\xff", provider="mystery"), *TRANSACTIONS]


@dataclass(frozen=True)
class Replayed:
    """Tables whose quarantine was replayed twice, and what the commands printed, and the tables had, on the way."""

    layout: Layout
    classified_before: list[Row]
    rules_before: set[str]
    printed_before: str
    printed_by_replays: str
    printed_after: str


@pytest.fixture(scope="module")
def quarantined(spark: SparkSession, empty_tables: Layout, tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """The tables after all records, with a rule more, which no transaction passes."""
    layout = Layout(str(tmp_path_factory.mktemp("quarantined") / "tables"))
    shutil.copytree(empty_tables.root, layout.root)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            translate, "ROW_RULES", (*translate.ROW_RULES, translate.RowRule("is_cheap", "amount", "false"))
        )
        ingest_records(spark, layout, RECORDS)
    return layout


@pytest.fixture(scope="module")
def replayed(spark: SparkSession, quarantined: Layout) -> Iterator[Replayed]:
    classified, rules = table(spark, quarantined, "classified"), rules_of(spark, quarantined, "0.125")
    before = printed(spark, quarantined, "quarantine", "--samples", "20")
    with pytest.MonkeyPatch.context() as patched:
        lenient = tuple(rule for rule in translate.ROW_RULES if rule.name != "currency_is_known")
        patched.setattr(translate, "ROW_RULES", lenient)
        replays = printed(spark, quarantined, "replay") + printed(spark, quarantined, "replay")
        after = printed(spark, quarantined, "quarantine", "--rule", "is_date", "--samples", "1")
        yield Replayed(quarantined, classified, rules, before, replays, after)


def printed(spark: SparkSession, layout: Layout, *words: str) -> str:
    """What a command prints."""
    with redirect_stdout(io.StringIO()) as output:
        assert main([*words, "--tables", layout.root], spark) == 0
    return output.getvalue()


def rules_of(spark: SparkSession, layout: Layout, value: str) -> set[str]:
    """The rules that the quarantined records with this text break."""
    rows = table(spark, layout, "quarantine")
    return {error.rule for row in rows if value in row.value for error in row.errors}


def test_malformed_accounts_are_quarantined_and_good_ones_are_rows(spark: SparkSession, quarantined: Layout) -> None:
    rows = table(spark, quarantined, "quarantine")

    rules = {row.source_offset: {error.rule for error in row.errors} for row in rows}
    accounts = table(spark, quarantined, "accounts")
    assert [rule in rules[offset] for offset, rule in enumerate(BAD_ACCOUNTS)] == [True] * len(BAD_ACCOUNTS)
    assert [(row.provider_account_id, row.revision) for row in accounts] == [("a", 7)]


def test_a_row_leaves_the_quarantine_when_its_rule_is_fixed(spark: SparkSession, replayed: Replayed) -> None:
    classes = {row.provider_transaction_id: row["class"] for row in table(spark, replayed.layout, "classified")}

    waiting = [row for row in table(spark, replayed.layout, "quarantine") if row.replayed_at is None]
    assert replayed.classified_before == []
    assert classes == {"fee": "fees", "points": "uncategorized"}
    assert {row.source_offset for row in waiting} == set(range(len(RECORDS))) - {7, 9, 10}


def test_the_quarantine_is_looked_at_and_tried_again_by_commands(spark: SparkSession, replayed: Replayed) -> None:
    before, after = replayed.printed_before, replayed.printed_after

    assert "Records in quarantine: 13. Moved to their tables since: 0." in before
    assert 'currency_is_known: unofficial_currency = "POINTS"' in before
    assert 'amount_in_minor_units: amount = "0.125"' in before
    assert "is_json: value = a record of 16 bytes" in before
    assert "\x1b" not in before
    assert "SECRET" not in before
    assert replayed.printed_by_replays.splitlines() == [
        "Moved from quarantine to their tables: 2. Still in quarantine: 11.",
        "Moved from quarantine to their tables: 0. Still in quarantine: 11.",
    ]
    assert "Records in quarantine: 11. Moved to their tables since: 2." in after
    assert "is_date" in after
    assert "amount_in_minor_units" not in after
    rows = table(spark, replayed.layout, "silver")
    assert sorted(row.provider_transaction_id for row in rows) == ["fee", "points"]


def test_a_record_that_still_breaks_a_rule_gets_the_current_reason(spark: SparkSession, replayed: Replayed) -> None:
    assert replayed.rules_before == {"amount_in_minor_units", "is_cheap"}
    assert rules_of(spark, replayed.layout, "0.125") == {"amount_in_minor_units"}


def test_replay_marks_rows_that_pass_now(spark: SparkSession, replayed: Replayed) -> None:
    rows = table(spark, replayed.layout, "quarantine")

    rebuilt = rebuild(spark, replayed.layout)

    assert sorted(row.source_offset for row in rows if row.replayed_at) == [9, 10]
    assert rebuilt == Rebuilt(silver=0, accounts=0, quarantine=0)


def test_an_empty_quarantine_is_one_line(spark: SparkSession, layout: Layout) -> None:
    lines = list(read_quarantine(spark, layout, samples=5).lines(replay="replay"))

    assert lines == ["Records in quarantine: 0. Moved to their tables since: 0."]


def test_a_folder_without_tables_is_one_line(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["quarantine", "--tables", str(tmp_path / "nowhere")], spark)

    assert code == 2
    assert capsys.readouterr().err.startswith("There is no table quarantine below ")


def test_an_unknown_rule_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["quarantine", "--tables", "x", "--rule", "nonsense"])

    assert "currency_is_iso" in capsys.readouterr().err

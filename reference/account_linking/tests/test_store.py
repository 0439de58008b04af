"""Every store keeps the same contract: one worker claims an item at a time, an expired claim moves no cursor, and no
access token is in plain text in any database."""

from __future__ import annotations

import base64
import io
import logging
import os
import random
import sqlite3
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from account_linking.errors import CannotUnseal, InvalidSettings
from account_linking.providers.model import FetchResult, LinkedItem, RawRecord
from account_linking.store import SqliteStore, open_store
from account_linking.store.__main__ import main
from account_linking.store.dynamodb import PART_BYTES, DynamoStore
from account_linking.store.kms import KmsKeys
from account_linking.store.postgresql import PostgresStore, parse_url
from account_linking.store.sealing import Sealer, add_key, read_key_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from account_linking.store import Claim, Store

TOKEN = "access-sandbox-a-planted-token"
ITEM = LinkedItem(provider="plaid", item="one", user="anna", token=TOKEN)
LISTED = replace(ITEM, token="")
"""As in a list: only a claim has the token."""
BACKENDS = ("sqlite", "postgresql", "dynamodb")


def aws_client(service: str, url: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=url,
        region_name="eu-central-1",
        aws_access_key_id="an-id",
        aws_secret_access_key="no-secret",
    )


@pytest.fixture(scope="module", autouse=True)
def no_system_certificates() -> Iterator[None]:
    """pg8000 reads all of the system's for every connection: 26 of 29 ms of CPU time. No server here has TLS."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SSL_CERT_FILE", os.devnull)
        patched.setenv("SSL_CERT_DIR", os.devnull)
        yield


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    add_key(tmp_path / "keys")
    return tmp_path / "keys"


def make_store(backend: str, request: pytest.FixtureRequest, sealer: Sealer) -> Store:
    """Return an empty store of this kind."""
    store: Store
    match backend:
        case "sqlite":
            store = SqliteStore(request.getfixturevalue("tmp_path") / "items.sqlite", sealer)
        case "postgresql":
            request.getfixturevalue("postgres").run("drop table if exists link, delivery")
            store = PostgresStore(request.getfixturevalue("postgres").url, sealer)
        case _:
            client = aws_client("dynamodb", request.getfixturevalue("aws"))
            store = DynamoStore(client, f"items-{uuid.uuid4().hex}", sealer)
    store.create()
    return store


@pytest.fixture(params=BACKENDS)
def store(request: pytest.FixtureRequest, key_file: Path) -> Store:
    made = make_store(request.param, request, Sealer(read_key_file(key_file)))
    made.add([ITEM])
    return made


def stored_bytes(store: Store, request: pytest.FixtureRequest) -> bytes:
    """Everything that the database has on disk, its logs included; of DynamoDB every row."""
    if isinstance(store, DynamoStore):
        return repr(store.client.scan(TableName=store.table)["Items"]).encode()
    if isinstance(store, SqliteStore):
        folder = request.getfixturevalue("tmp_path")
    else:
        server = request.getfixturevalue("postgres")
        server.run("checkpoint")
        folder = server.folder
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "keys")


def big_result(size: int) -> FetchResult:
    """A result that compression does not make smaller."""
    noise = base64.b85encode(random.Random(7).randbytes(size)).decode()
    return FetchResult((RawRecord(entity="transactions", account="a", value=noise),), "next")


def test_a_claim_excludes_others_until_it_expires(store: Store) -> None:
    first = store.claim("plaid", "one", now=0, until=30)

    second, third = store.claim("plaid", "one", now=29, until=60), store.claim("plaid", "one", now=30, until=60)

    assert first is not None
    assert first.link == ITEM
    assert second is None
    assert third is not None
    assert third.fencing_token > first.fencing_token


def test_an_expired_claim_does_not_move_the_cursor(store: Store) -> None:
    slow = store.claim("plaid", "one", now=0, until=30)
    quick = store.claim("plaid", "one", now=31, until=60)
    assert slow
    assert quick

    late, in_time = store.advance(slow, "old", now=40), store.advance(quick, "new", now=40)

    again = store.claim("plaid", "one", now=41, until=60)
    assert (late, in_time) == (False, True)
    assert again
    assert again.cursor == "new"


def test_an_expired_claim_does_not_release_the_later_one(store: Store) -> None:
    slow = store.claim("plaid", "one", now=0, until=30)
    store.claim("plaid", "one", now=31, until=60)
    assert slow

    store.release(slow, state="login_required")

    assert store.claim("plaid", "one", now=40, until=60) is None
    assert [claim.link.item for claim in store.stale(before=50)] == ["one"]


@pytest.mark.parametrize("result", [FetchResult((), "next"), big_result(1000), big_result(3 * PART_BYTES)])
def test_an_unfinished_result_is_kept_until_the_cursor_moves(store: Store, result: FetchResult) -> None:
    first = store.claim("plaid", "one", now=0, until=30)
    assert first
    is_saved = store.save_unfinished(first, result)
    store.release(first)

    second = store.claim("plaid", "one", now=1, until=30)
    assert second
    too_late = store.save_unfinished(first, FetchResult((), "late"))
    also_too_late = store.save_unfinished(first, big_result(2 * PART_BYTES))
    store.advance(second, "next", now=2)

    third = store.claim("plaid", "one", now=3, until=30)
    assert third
    assert (is_saved, too_late, also_too_late) == (True, False, False)
    assert (first.unfinished, second.unfinished, third.unfinished) == (None, result, None)


@pytest.mark.parametrize("sizes", [(3 * PART_BYTES, 10), (10, 3 * PART_BYTES), (3 * PART_BYTES, 2 * PART_BYTES)])
def test_a_second_result_replaces_the_first_whatever_their_sizes(store: Store, sizes: tuple[int, int]) -> None:
    claim = store.claim("plaid", "one", now=0, until=30)
    assert claim
    for size in sizes:
        store.save_unfinished(claim, big_result(size))
    store.release(claim)

    again = store.claim("plaid", "one", now=1, until=30)

    assert again
    assert again.unfinished == big_result(sizes[-1])


@pytest.mark.parametrize("store", ["dynamodb"], indirect=True)
def test_parts_that_a_slow_worker_deletes_are_of_its_own_claim(store: DynamoStore) -> None:
    first = store.claim("plaid", "one", now=0, until=30)
    assert first
    store.save_unfinished(first, big_result(2 * PART_BYTES))
    delete, deleted = store.client.delete_item, []
    claims: list[Claim] = []

    def delete_late(**row: Any) -> Any:
        """Another worker claims the item and saves its result, just before the first part is deleted."""
        if not claims:
            claims.append(save_next(store))
        deleted.append(row)
        return delete(**row)

    store.client.delete_item = delete_late
    store.advance(first, "next", now=30)

    found = store.claim("plaid", "one", now=61, until=90)
    assert found
    assert found.unfinished == big_result(3 * PART_BYTES)
    assert len(deleted) == 3  # 2 parts of 350,000 bytes in base 85, compressed


def save_next(store: Store) -> Claim:
    claim = store.claim("plaid", "one", now=31, until=60)
    assert claim
    store.save_unfinished(claim, big_result(3 * PART_BYTES))
    store.release(claim)
    return claim


def test_of_64_concurrent_claims_one_succeeds(store: Store) -> None:
    with ThreadPoolExecutor(16) as pool:
        claims = list(pool.map(lambda _: store.claim("plaid", "one", now=0, until=30), range(64)))

    assert len([claim for claim in claims if claim]) == 1


def test_concurrent_claims_one_after_the_other_have_numbers_of_their_own(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        claims = list(pool.map(lambda at: store.claim("plaid", "one", now=1e9 + at, until=1), range(40)))

    assert sorted(claim.fencing_token for claim in claims if claim) == list(range(1, 41))


def test_an_unknown_item_is_an_error_and_not_a_failed_claim(store: Store) -> None:
    with pytest.raises(KeyError):
        store.claim("plaid", "unknown", now=0, until=30)


def test_items_without_sync_are_stale_unless_the_holder_must_log_in(store: Store) -> None:
    store.add([LinkedItem(provider="plaid", item=name, user="anna", token="t") for name in ("two", "three")])
    synced = store.claim("plaid", "two", now=0, until=30)
    login_required = store.claim("plaid", "three", now=0, until=30)
    assert synced
    assert login_required
    store.advance(synced, "c", now=100)
    store.release(login_required, state="login_required")

    stale = store.stale(before=50)

    assert [claim.link for claim in stale] == [LISTED]


def test_a_new_token_for_a_known_item_keeps_its_cursor_and_its_claims(store: Store) -> None:
    claim = store.claim("plaid", "one", now=0, until=30)
    assert claim
    store.advance(claim, "here", now=1)

    store.add([LinkedItem(provider="plaid", item="one", user="bob", token="newer")])

    again = store.claim("plaid", "one", now=2, until=30)
    assert again
    assert (again.link.user, again.link.token, again.cursor, again.fencing_token) == ("bob", "newer", "here", 2)


def test_a_removed_item_leaves_nothing_and_is_unknown(store: Store, request: pytest.FixtureRequest) -> None:
    other = LinkedItem(provider="yodlee", item="two", user="anna", token="t")
    store.add([other, LinkedItem(provider="plaid", item="three", user="bob", token="t")])
    claim = store.claim("plaid", "one", now=0, until=30)
    assert claim
    store.save_unfinished(claim, big_result(2 * PART_BYTES))

    first, second = store.remove("plaid", "one"), store.remove("plaid", "one")

    assert (first, second) == (True, False)
    assert store.items_of("anna") == [replace(other, token="")]
    assert store.advance(claim, "late", now=2) is False
    assert not isinstance(store, DynamoStore) or b"part-" not in stored_bytes(store, request)
    with pytest.raises(KeyError):
        store.claim("plaid", "one", now=50, until=60)


def test_of_64_copies_of_a_delivery_one_is_new(store: Store) -> None:
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: store.remember_delivery("d" * 5000, now=0, until=30), range(64)))

    assert sum(found) == 1


def test_a_delivery_that_was_not_published_is_forgotten_alone(store: Store) -> None:
    for name in ("a", "b"):
        store.remember_delivery(name, now=0, until=600)

    store.forget_delivery("a")
    store.forget_delivery("unknown")

    assert [store.remember_delivery(name, now=1, until=601) for name in ("a", "b")] == [True, False]


def test_a_delivery_is_forgotten_after_its_time(store: Store) -> None:
    deliveries = [("d", 0.0, 30.0), ("d", 29.9, 60.0), ("other", 1.0, 30.0), ("d", 30.0, 60.0), ("d", 59.0, 99.0)]

    found = [store.remember_delivery(name, now=now, until=until) for name, now, until in deliveries]

    assert found == [True, False, True, True, False]


def test_a_delivery_that_was_not_stored_is_new_again(store: Store) -> None:
    store.remember_delivery("d", now=0, until=30)
    store.forget_delivery("d")
    store.forget_delivery("unknown")

    assert store.remember_delivery("d", now=1, until=30)


def test_no_token_is_in_a_database_in_its_log_or_in_ours(
    store: Store, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    store.add([ITEM, LinkedItem(provider="fdx", item="two", user="bob", token=TOKEN * 2)])
    claim = store.claim("plaid", "one", now=0, until=30)
    assert claim
    planted = RawRecord(entity="accounts", account="a", value='{"mask": "a-planted-account-number"}')
    store.save_unfinished(claim, FetchResult((planted,), "c"))
    logging.getLogger(__name__).info("%s %r %r", claim, store.stale(before=1), store)

    stored = stored_bytes(store, request)

    assert b"plaid" in stored
    assert b"planted" not in stored
    assert "planted" not in caplog.text
    assert "LinkedItem(provider='plaid'" in caplog.text


def test_a_rotated_key_opens_nothing_more_after_a_reseal(
    store: Store, request: pytest.FixtureRequest, key_file: Path
) -> None:
    old = key_file.read_text().split()
    add_key(key_file)
    rotated = with_keys(store, key_file)

    count = rotated.reseal()

    key_file.write_text(key_file.read_text().split()[0])
    assert count == 1
    assert claimed(with_keys(store, key_file), now=1) == ITEM
    key_file.write_text("\n".join(old))
    with pytest.raises(CannotUnseal, match="has no key"):
        claimed(with_keys(store, key_file), now=2)
    assert with_keys(store, key_file).items_of("anna") == [LISTED]


def claimed(store: Store, item: str = "one", *, now: float = 0) -> LinkedItem:
    """Claim an item for no time; return it with its token."""
    claim = store.claim("plaid", item, now=now, until=now)
    assert claim
    return claim.link


def with_keys(store: Store, key_file: Path) -> Store:
    sealer = Sealer(read_key_file(key_file))
    match store:
        case SqliteStore():
            return SqliteStore(store.path, sealer)
        case DynamoStore():
            return DynamoStore(store.client, store.table, sealer)
        case PostgresStore():
            address = store.address
            url = f"postgresql://{address.user}:{address.password}@{address.host}:{address.port}/{address.database}"
            return PostgresStore(url, sealer)
    raise AssertionError(store)


def test_a_token_that_was_copied_to_another_item_does_not_open(key_file: Path, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "items.sqlite", Sealer(read_key_file(key_file)))
    store.add([ITEM, LinkedItem(provider="plaid", item="two", user="mallory", token="t")])
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("update link set token = (select token from link where item = 'one') where item = 'two'")

    with pytest.raises(CannotUnseal, match="sealed for another item"):
        claimed(store, "two")


def test_a_token_in_plain_text_is_refused_until_it_is_sealed(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "items.sqlite")
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(f"insert into link (provider, item, user, token) values ('plaid', 'one', 'anna', '{TOKEN}')")
    with pytest.raises(CannotUnseal, match="reseal"):
        store.claim("plaid", "one", now=0, until=30)
    before = b"".join(path.read_bytes() for path in tmp_path.iterdir())

    store.reseal()

    after = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert (TOKEN.encode() in before, TOKEN.encode() in after) == (True, False)
    assert claimed(store, now=31) == ITEM  # the refused claim ends at 30


def test_processes_of_one_machine_share_the_key_that_the_first_made(tmp_path: Path) -> None:
    path = tmp_path / "items.sqlite"
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: add_one(path, number), range(24)))

    tokens = [claimed(SqliteStore(path), str(number)).token for number in range(24)]

    assert tokens == made
    assert sorted(each.name for each in tmp_path.iterdir() if "key" in each.name) == ["items.sqlite.key"]
    assert Path(f"{path}.key").stat().st_mode & 0o777 == 0o600


def add_one(path: Path, number: int) -> str:
    SqliteStore(path).add([LinkedItem(provider="plaid", item=str(number), user="anna", token=f"token-{number}")])
    return f"token-{number}"


def change_mode(path: Path) -> None:
    path.chmod(0o644)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda path: path.unlink(), "No such file"),
        (lambda path: path.write_text(""), "is empty"),
        (lambda path: path.write_text("c2hvcnQ="), "32 bytes a line"),
        (lambda path: path.write_text("no base64!"), "32 bytes a line"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "32 bytes a line"),
        (change_mode, "chmod 600"),
    ],
)
def test_a_bad_key_file_is_an_error_with_what_to_do(
    key_file: Path, spoil: Callable[[Path], Any], sentence: str
) -> None:
    spoil(key_file)

    with pytest.raises(CannotUnseal, match=sentence):
        read_key_file(key_file)


def test_a_value_sealed_with_kms_opens_in_another_process_and_after_the_data_key_changed(aws: str) -> None:
    client = aws_client("kms", aws)
    key_id = client.create_key()["KeyMetadata"]["KeyId"]
    now = [0.0]
    sealer = Sealer(KmsKeys(client, key_id, now=lambda: now[0]))
    early = sealer.seal(b"token", "here")
    now[0] = 3601.0
    late = sealer.seal(b"token", "here")

    other = Sealer(KmsKeys(aws_client("kms", aws), key_id))

    assert [other.unseal(value, "here") for value in (early, late)] == [b"token", b"token"]
    assert early[:200] != late[:200]
    assert b"token" not in early
    with pytest.raises(CannotUnseal, match="another item"):
        other.unseal(early, "there")


def test_a_sealed_value_that_was_altered_at_any_byte_does_not_open(key_file: Path) -> None:
    sealer = Sealer(read_key_file(key_file))
    sealed = sealer.seal(b"token", "here")

    altered = [sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :] for at in range(len(sealed))]

    assert [open_or_none(sealer, value) for value in [*altered, sealed[:-1], sealed[:9]]] == [None] * (len(sealed) + 2)


def open_or_none(sealer: Sealer, value: bytes) -> bytes | None:
    try:
        return sealer.unseal(value, "here")
    except CannotUnseal:
        return None


def test_the_settings_name_the_store_and_its_key(
    key_file: Path, tmp_path: Path, postgres: Any, aws_variables: str
) -> None:
    key = {"ACCOUNT_LINKING_KEY_FILE": str(key_file)}
    kms = {"ACCOUNT_LINKING_KMS_KEY": aws_client("kms", aws_variables).create_key()["KeyMetadata"]["KeyId"]}

    opened = [
        open_store({"ACCOUNT_LINKING_STORE": name, **keys})
        for name, keys in [
            (str(tmp_path / "a"), {}),
            (str(tmp_path / "b"), key),
            (postgres.url, key),
            ("dynamodb:settings", kms),
        ]
    ]

    for store in opened:
        store.create()
        store.add([ITEM])
        assert claimed(store, now=time.time()) == ITEM
    assert [type(store) for store in opened] == [SqliteStore, SqliteStore, PostgresStore, DynamoStore]


@pytest.mark.parametrize("name", ["", "dynamodb:items", "postgresql://owner@127.0.0.1/x"])
def test_a_shared_store_without_a_key_is_refused(name: str) -> None:
    with pytest.raises(InvalidSettings, match=r"is not set|must be set"):
        open_store({"ACCOUNT_LINKING_STORE": name})


@pytest.mark.parametrize(
    "url", ["postgresql:", "postgresql://secret-host", "postgresql://u:secret@h:port/d", "postgresql://u:secret@h"]
)
def test_a_malformed_url_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        parse_url(url, "")

    assert "secret" not in str(refused.value)


def test_a_database_on_another_machine_is_reached_by_tls_alone() -> None:
    local, remote = (parse_url(f"postgresql://u@{host}/d", "") for host in ("127.0.0.1", "db.example"))

    contexts = local.tls(), remote.tls()

    assert contexts[0] is None
    assert contexts[1] is not None
    assert contexts[1].check_hostname


def test_the_command_line_adds_items_and_quotes_no_token(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = {"ACCOUNT_LINKING_STORE": str(tmp_path / "items.sqlite")}
    line = f'{{"provider": "plaid", "item": "one", "user": "anna", "token": "{TOKEN}"}}\n'

    main(["add"], settings, io.StringIO(line))
    with pytest.raises(InvalidSettings, match="Line 2 is no item") as refused:
        main(["add"], settings, io.StringIO(f"{line}{line[:-3]}"))

    assert claimed(open_store(settings)) == ITEM
    assert TOKEN not in str(refused.value) + capsys.readouterr().out

"""What others send is stored, refused or a dead letter: over a real socket, and by a generator of bodies."""

from __future__ import annotations

import base64
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import jwt
import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from hypothesis import given
from hypothesis import strategies as st

from account_linking import fetch_tasks, receiver
from account_linking.demo.deployment import create_topics
from account_linking.demo.fetch_harness import FetchHarness, _HarnessApi
from account_linking.demo.ledger import START, Account, BankLedger, Movement, MovementChange, SimulatedItem
from account_linking.demo.simulator import fdx, plaid, yodlee
from account_linking.demo.simulator.banks import SimulatedBanks
from account_linking.demo.simulator.server import serve
from account_linking.errors import Poison, WebhookRefused
from account_linking.fanout import split_webhooks
from account_linking.kafka_event import KafkaRecord, make_event
from account_linking.providers.model import FetchTask, IncomingWebhook, LinkedItem
from account_linking.providers.plaid import webhook as plaid_webhook
from account_linking.providers.plaid.key_cache import NEW_KEYS_AT_ONCE, KeyCache, UnknownKey
from account_linking.providers.yodlee import webhook as yodlee_webhook
from account_linking.requester.handler import run
from account_linking.requester.worker import Requester
from account_linking.store import SqliteStore
from account_linking.topics import DEAD_LETTERS, FETCH_TASKS, WEBHOOKS
from leadsman.lab.processes.ports import free_ports
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from account_linking.requester.worker import Outgoing
    from leadsman.lab.brokers.cluster import Cluster

BODY = plaid.webhook("item-1")
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The order of the curve P-256 (FIPS 186-4, D.1.2.3)."""

MAX_RECORD_BYTES = 1_000_000
"""A little below `message.max.bytes`."""

DEEP = b"[" * 100_000
LONG = "x" * 400_000
HOSTILE_BODIES = [
    DEEP,
    b'{"event": ' * 20_000,
    b'{"webhook_code": ["SYNC_UPDATES_AVAILABLE"], "item_id": "a"}',
    b'{"webhook_code": {}, "item_id": "a"}',
    b'{"webhook_code": "SYNC_UPDATES_AVAILABLE", "item_id": "\\ud800"}',
    b'{"webhook_code": "SYNC_UPDATES_AVAILABLE", "item_id": null}',
    b'{"webhook_code": "SYNC_UPDATES_AVAILABLE", "item_id": {"a": 1}}',
    b'{"webhook_code": "SYNC_UPDATES_AVAILABLE", "item_id": "a\\u0000b"}',
    b'{"webhook_code": "SYNC_UPDATES_AVAILABLE", "item_id": NaN}',
    b'{"webhook_code": "SYNC_UPDATES_AVAILABLE", "item_id": ' + b"1" * 5000 + b"}",
    json.dumps({"webhook_code": "SYNC_UPDATES_AVAILABLE", "item_id": LONG}).encode(),
    json.dumps({"notificationType": "TRANSACTIONS_UPDATED", "customerId": LONG}).encode(),
    json.dumps({"notificationType": ["TRANSACTIONS_UPDATED"], "customerId": "c"}).encode(),
    b'{"event": {"info": "DATA_UPDATES", "data": {"userData": {"user": 1}}}}',
    b'{"event": {"info": "DATA_UPDATES", "data": {"userData": [5]}}}',
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b"",
]


def yodlee_body(href: object, user: object = "anna") -> bytes:
    row = {"user": {"loginName": user}, "links": [{"rel": "getUserData", "href": href}]}
    return json.dumps({"event": {"info": "DATA_UPDATES.USER_DATA", "data": {"userData": [row]}}}).encode()


def record(provider: str, value: bytes, offset: int = 0) -> KafkaRecord:
    return KafkaRecord(topic=WEBHOOKS, partition=0, offset=offset, value=value, headers={"provider": provider})


def is_publishable(outgoing: Outgoing) -> bool:
    size = len(outgoing.key.encode()) + len(outgoing.value) + sum(len(value) for _, value in outgoing.headers)
    return size < MAX_RECORD_BYTES


@pytest.mark.parametrize("provider", ["plaid", "yodlee", "fdx", "unknown", ""])
@pytest.mark.parametrize("body", HOSTILE_BODIES, ids=range(len(HOSTILE_BODIES)))
def test_a_hostile_body_is_a_dead_letter_or_nothing_and_delays_no_other(provider: str, body: bytes) -> None:
    batch = [record("plaid", BODY), record(provider, body, 1), record("fdx", fdx.webhook("c"), 2)]

    outgoing = list(split_webhooks(batch))

    fetched = [fetch_tasks.load(each.value) for each in outgoing if each.topic == FETCH_TASKS]
    assert fetched == [FetchTask(provider="plaid", item="item-1"), FetchTask(provider="fdx", item="c")]
    assert [each.value for each in outgoing if each.topic == DEAD_LETTERS] in ([body], [])
    assert all(map(is_publishable, outgoing))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(LONG),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
REAL = [BODY, yodlee.webhook(["anna", "bob"], since=0, until=900), fdx.webhook("c")]


@st.composite
def damaged_bodies(draw: st.DrawFn) -> bytes:
    """A real webhook in which one value is replaced by any JSON, or one byte by another."""
    document = json.loads(draw(st.sampled_from(REAL)))
    parent, name = draw(st.sampled_from(list(places(document))))
    parent[name] = draw(JSON)
    body = json.dumps(document).encode()[:890_000]
    position = draw(st.none() | st.integers(0, len(body) - 1))
    return body if position is None else body[:position] + draw(st.binary(max_size=2)) + body[position + 1 :]


def places(document: Any) -> Iterator[tuple[Any, Any]]:
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for name, value in list(items):
        yield document, name
        if isinstance(value, dict | list):
            yield from places(value)


@given(damaged_bodies(), st.sampled_from(["plaid", "yodlee", "fdx"]))
def test_any_damaged_webhook_gives_records_that_can_be_published(body: bytes, provider: str) -> None:
    outgoing = list(split_webhooks([record(provider, body), record("plaid", BODY, 1)]))

    assert all(map(is_publishable, outgoing))
    assert fetch_tasks.dump(FetchTask(provider="plaid", item="item-1")) in [each.value for each in outgoing]
    for each in outgoing:
        if each.topic == FETCH_TASKS:
            fetch_tasks.load(each.value)


@pytest.mark.parametrize(
    "value",
    [*HOSTILE_BODIES, b'{"provider": "plaid", "item": "i"}', b'{"provider": ["plaid"], "item": "i", "link": ""}'],
)
def test_a_record_that_is_no_fetch_task_is_poison(value: bytes) -> None:
    with pytest.raises(Poison):
        fetch_tasks.load(value)


@given(st.text(min_size=1, max_size=40), st.text(max_size=40))
def test_an_error_quotes_nothing_of_the_content(name: str, content: str) -> None:
    secret = f"SECRET{content}"
    body = yodlee_body(
        f"dataExtracts/userData?fromDate={secret}&toDate={secret}&loginName=anna", user=f"{name}{secret}"
    )

    with pytest.raises(Poison) as error:
        yodlee_webhook.fetch_tasks(body)

    assert "SECRET" not in str(error.value)


@pytest.mark.parametrize(
    "window",
    [
        "fromDate=2026-06-01T00%3A00%3A00Z%26skip%3D1000000&toDate=2026-06-01T00:15:00Z",
        "fromDate=2026-06-01T00:00:00Z&toDate=2026-06-01T00:15:00Z%26loginName%3Dbob",
        "fromDate=2026-06-01T00:00:00&toDate=2026-06-01T00:15:00Z",
        "fromDate=yesterday&toDate=today",
        "fromDate=0001-01-01T00:00:00%2B01:00&toDate=2026-06-01T00:15:00Z",
        "fromDate=2026-06-01T00:00:00Z",
    ],
)
def test_a_window_of_yodlee_is_two_times_and_nothing_else(window: str) -> None:
    with pytest.raises(Poison):
        yodlee_webhook.fetch_tasks(yodlee_body(f"dataExtracts/userData?{window}&loginName=anna"))


def test_a_window_in_another_time_zone_is_written_in_utc() -> None:
    href = (
        "dataExtracts/userData?fromDate=2026-06-01T02:00:00%2B02:00&toDate=2026-06-01T00:15:00Z&skip=5&loginName=anna"
    )

    (task,) = yodlee_webhook.fetch_tasks(yodlee_body(href))

    assert task.link == "fromDate=2026-06-01T00:00:00Z&toDate=2026-06-01T00:15:00Z"


# The requester


def test_a_fetch_task_that_can_never_succeed_is_a_dead_letter_and_the_others_are_fetched(tmp_path: Path) -> None:
    movement = Movement(id="m", account="a", kind="shop", amount=1, day=START.date(), text="x")  # type: ignore[arg-type]
    ledger = BankLedger(
        {"i": SimulatedItem(id="i", provider="plaid", user="anna", accounts=(Account(id="a", kind="checking"),))}
    )
    banks = SimulatedBanks(ledger)
    banks.apply_changes([MovementChange(at=1.0, item="i", movement=movement)])
    store = SqliteStore(tmp_path / "items.sqlite")
    store.add([LinkedItem(provider="plaid", item="i", user="anna", token="access-i")])
    harness = FetchHarness(banks, store)
    tasks = [("plaid", "i"), ("x", "i"), ("plaid", "not-linked")]
    values = [DEEP, *(fetch_tasks.dump(FetchTask(provider=provider, item=item)) for provider, item in tasks)]
    event = make_event([replace(record("", value, offset), topic=FETCH_TASKS) for offset, value in enumerate(values)])

    worker = Requester(store=store, api=lambda name, _: _HarnessApi(harness, name), publish=harness._publish)
    answer = run(event, Context(), worker)

    dead = {each.key: dict(each.headers)["reason"].decode() for each in harness.records if each.topic == DEAD_LETTERS}
    assert sorted(dead) == [f"{FETCH_TASKS}-0-{offset}" for offset in (0, 2, 3)]
    assert all(reason.startswith("Poison: ") for reason in dead.values())
    assert [each.topic for each in harness.records if "transactions" in each.topic] == [
        "provider.plaid.transactions.raw"
    ]
    assert answer == {"elements": 4, "records": 5}


class Context:
    def get_remaining_time_in_millis(self) -> int:
        return 30_000


# Plaid's signature


def incoming(token: str) -> IncomingWebhook:
    return IncomingWebhook(headers={"plaid-verification": token}, body=BODY)


def encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def second_form(token: str) -> str:
    """The same token with the signature (r, n-s), which is valid as well."""
    signed, _, signature = token.rpartition(".")
    raw = base64.urlsafe_b64decode(signature + "==")
    other = ORDER - int.from_bytes(raw[32:], "big")
    return f"{signed}.{encoded(raw[:32] + other.to_bytes(32, 'big'))}"


def respelled(token: str) -> str:
    """The same token with other unused bits in the last character of its signature."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return token[:-1] + letters[letters.index(token[-1]) ^ 1]


REPEATS: dict[str, Callable[[str], str]] = {
    "unchanged": str,
    "second form": second_form,
    "other bits": respelled,
    "padded": lambda token: f"{token}==",
    "with a line break": lambda token: f"{token}\n",
    "with rubbish": lambda token: f"{token}!!",
}


@pytest.mark.parametrize("repeat", REPEATS.values(), ids=REPEATS)
def test_every_spelling_of_a_token_is_the_same_delivery_or_refused(
    repeat: Callable[[str], str], signer: plaid.Signer, plaid_settings: dict[str, str]
) -> None:
    verify = plaid_webhook.verifier(plaid_settings)
    token = signer.sign(BODY)
    first = verify(incoming(token))

    try:
        again = verify(incoming(repeat(token)))
    except WebhookRefused:
        again = first

    assert again == first


def test_the_second_form_of_a_signature_is_valid(signer: plaid.Signer, plaid_settings: dict[str, str]) -> None:
    token = signer.sign(BODY)

    other = second_form(token)

    assert other != token
    assert plaid_webhook.verifier(plaid_settings)(incoming(other))


IATS = [
    10**400,
    -(10**400),
    10**4000,
    1e308,
    float("nan"),
    float("inf"),
    float("-inf"),
    "now",
    True,
    [],
    {},
    -0.0,
]


@pytest.mark.parametrize("issued", IATS, ids=range(len(IATS)))
def test_a_time_of_any_size_and_type_is_refused(
    issued: Any, signer: plaid.Signer, plaid_settings: dict[str, str]
) -> None:
    token = signer.sign(BODY, issued=issued)

    with pytest.raises(WebhookRefused) as refused:
        plaid_webhook.verifier(plaid_settings)(incoming(token))

    assert refused.value.status == 401


@pytest.mark.parametrize("claim", ["exp", "nbf", "aud", "iss", "jti", "sub", "iat", "request_body_sha256"])
@pytest.mark.parametrize("value", [1e400, 10**400, [], {"a": 1}, "\ud800", None], ids=range(6))
def test_claims_of_any_type_are_accepted_or_refused(
    claim: str, value: Any, signer: plaid.Signer, plaid_settings: dict[str, str]
) -> None:
    claims = json.dumps({"iat": time.time(), claim: value}).encode()
    signed = f"{encoded(json.dumps({'alg': 'ES256', 'kid': 'key-1'}).encode())}.{encoded(claims)}"
    r, s = decode_dss_signature(signer.key("key-1").sign(signed.encode(), ec.ECDSA(ALGORITHM_HASH)))
    token = f"{signed}.{encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"

    with pytest.raises(WebhookRefused):
        plaid_webhook.verifier(plaid_settings)(incoming(token))


ALGORITHM_HASH = jwt.algorithms.ECAlgorithm.SHA256()

HEADS: list[Any] = [[], 5, None, {"alg": "ES256"}, {"alg": ["ES256"], "kid": "k"}, {"alg": "ES256", "kid": ["k"]}]
HEADS += [{"alg": "ES256", "kid": name} for name in ("", "a\nb", "../../etc", "x" * 5000, 7, None)]
HEADS += [{"alg": "ES256", "kid": "key-1", "crit": ["b64"]}, {"alg": "ES256", "kid": "key-1", "b64": False}]


@pytest.mark.parametrize("head", [json.dumps(head).encode() for head in HEADS] + [b"[" * 3000, b'{"a":' * 600, b"\xff"])
def test_a_header_of_any_form_is_refused_without_a_call(
    head: bytes, plaid_settings: dict[str, str], banks: SimulatedBanks
) -> None:
    before = banks.call_counts.get("calls", 0)
    token = f"{encoded(head)}.{encoded(b'{}')}.{encoded(bytes(64))}"

    with pytest.raises(WebhookRefused) as refused:
        plaid_webhook.verifier(plaid_settings)(incoming(token))

    assert refused.value.status == 401
    assert banks.call_counts.get("calls", 0) - before <= int(b"key-1" in head)


def forged(key_id: str) -> str:
    return plaid.Signer(key_id=key_id).sign(BODY)


def test_forged_tokens_with_made_up_key_ids_cost_a_few_calls_and_real_ones_are_accepted(
    signer: plaid.Signer, plaid_settings: dict[str, str], banks: SimulatedBanks
) -> None:
    verify = plaid_webhook.verifier(plaid_settings)
    verify(incoming(signer.sign(BODY)))
    before = banks.call_counts["calls"]

    statuses = [status_of(verify, forged(f"made-up-{number % 50}")) for number in range(150)]
    delivery = verify(incoming(signer.sign(BODY, issued=time.time() - 5)))

    assert banks.call_counts["calls"] - before < NEW_KEYS_AT_ONCE
    assert set(statuses) == {401, 503}
    assert delivery


def status_of(verify: Callable[[IncomingWebhook], str], token: str) -> int:
    with pytest.raises(WebhookRefused) as refused:
        verify(incoming(token))
    return refused.value.status


def test_copies_that_arrive_at_once_share_one_call_for_the_key() -> None:
    calls: list[str] = []

    def fetch_key(key_id: str) -> dict[str, Any]:
        calls.append(key_id)
        time.sleep(0.1)  # reason: the others must come while the first is waiting
        return {"kid": key_id}

    cache = KeyCache(fetch_key, time.monotonic)
    with ThreadPoolExecutor(10) as pool:
        keys = list(pool.map(cache.get, ["k"] * 10))

    assert calls == ["k"]
    assert keys == [{"kid": "k"}] * 10


def test_an_outage_is_not_cached_and_an_unknown_key_is_for_ten_minutes() -> None:
    now = [0.0]
    answers: list[Exception | None] = [
        WebhookRefused("outage", status=503),
        UnknownKey("unknown"),
        None,
    ]

    def fetch_key(_: str) -> dict[str, Any]:
        answer = answers.pop(0)
        if answer:
            raise answer
        return {"kid": "k"}

    cache = KeyCache(fetch_key, lambda: now[0])
    statuses = [key_status(cache), key_status(cache), key_status(cache)]
    now[0] = 601.0

    assert statuses == [503, 401, 401]
    assert key_status(cache) == 200


def key_status(cache: KeyCache) -> int:
    try:
        cache.get("k")
    except WebhookRefused as refused:
        return refused.status
    return 200


# The receiver, over a real socket


@pytest.fixture(scope="module")
def receiver_url(
    cluster: Cluster, plaid_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    create_topics(cluster.bootstrap, 1)
    store = tmp_path_factory.mktemp("store") / "items.sqlite"
    settings = {**plaid_settings, "KAFKA_BOOTSTRAP": cluster.bootstrap, "ACCOUNT_LINKING_STORE": str(store)}
    with serve(receiver.app(settings), free_ports(1)[0]) as url:
        yield f"{url}/webhooks/plaid"


def end_of_topic(cluster: Cluster) -> int:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "untrusted-input", "log_level": 0})
    (end,) = wait_for(partial(read_end, consumer), timeout=timedelta(seconds=60), what="the end of the topic")
    consumer.close()
    return end


def read_end(consumer: Consumer) -> tuple[int, ...]:
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition(WEBHOOKS, 0), timeout=30)
    except KafkaException:  # the topic is new, and its leader does not know yet that it is the leader
        return ()
    return (int(end),)


def test_of_ten_copies_at_once_in_all_spellings_one_is_stored(
    receiver_url: str, cluster: Cluster, signer: plaid.Signer
) -> None:
    token = signer.sign(BODY)
    spellings = [token, second_form(token), respelled(token), f"{token}==", *[token] * 6]
    before = end_of_topic(cluster)

    with ThreadPoolExecutor(10) as pool:
        statuses = list(
            pool.map(
                lambda each: (
                    httpx.post(receiver_url, content=BODY, headers={"Plaid-Verification": each}, timeout=30).status_code
                ),
                spellings,
            )
        )

    assert sorted(statuses) == [200] + [401] * 9
    assert end_of_topic(cluster) - before == 1


@pytest.mark.parametrize("token", ["", "a.b.c", "." * 5000, "é", f"{encoded(b'[' * 3000)}.e30.{encoded(bytes(64))}"])
def test_a_request_with_any_token_is_refused_and_never_an_internal_error(token: str, receiver_url: str) -> None:
    answer = httpx.post(receiver_url, content=DEEP, headers=[(b"Plaid-Verification", token.encode())], timeout=30)

    assert answer.status_code == 401
    assert answer.json() == {"message": "refused"}


def test_a_webhook_gets_503_while_the_store_does_not_answer(
    signer: plaid.Signer, cluster: Cluster, plaid_settings: dict[str, str], tmp_path: Path
) -> None:
    store = tmp_path / "items.sqlite"
    settings = {**plaid_settings, "KAFKA_BOOTSTRAP": cluster.bootstrap, "ACCOUNT_LINKING_STORE": str(store)}
    headers = {"Plaid-Verification": signer.sign(BODY)}

    with serve(receiver.app(settings), free_ports(1)[0]) as url:
        for path in tmp_path.iterdir():
            path.write_bytes(b"no database" * 1000)
        answer = httpx.post(f"{url}/webhooks/plaid", content=BODY, headers=headers, timeout=30)

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")


def test_a_body_that_does_not_end_is_refused(receiver_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiver, "BODY_TIMEOUT", timedelta(seconds=0.5))
    host, port = httpx.URL(receiver_url).host, httpx.URL(receiver_url).port

    with socket.create_connection((host, port), timeout=20) as connection:
        connection.sendall(b"POST /webhooks/plaid HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx")
        answer = connection.recv(1000)

    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_webhook_that_could_not_be_stored_is_accepted_again(
    signer: plaid.Signer, plaid_settings: dict[str, str], tmp_path: Path
) -> None:
    (closed_port,) = free_ports(1)
    settings = {**plaid_settings, "KAFKA_BOOTSTRAP": f"127.0.0.1:{closed_port}"}
    settings["ACCOUNT_LINKING_STORE"] = str(tmp_path / "items.sqlite")
    headers = {"Plaid-Verification": signer.sign(BODY)}

    with serve(receiver.app(settings), free_ports(1)[0]) as url:
        answers = [
            httpx.post(f"{url}/webhooks/plaid", content=BODY, headers=headers, timeout=30).status_code for _ in range(2)
        ]

    assert answers == [503, 503]

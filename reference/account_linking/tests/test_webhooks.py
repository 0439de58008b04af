"""Forged, replayed and altered webhooks are refused by each provider's own rule."""

from __future__ import annotations

import base64
import hmac
import json
import time
from typing import TYPE_CHECKING

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from account_linking import receiver
from account_linking.demo.simulator import plaid, yodlee
from account_linking.demo.simulator.server import serve
from account_linking.errors import Poison, WebhookRefused
from account_linking.providers.model import FetchTask, IncomingWebhook
from account_linking.providers.plaid import webhook as plaid_webhook
from account_linking.providers.unsigned import verifier as unsigned
from account_linking.providers.yodlee import webhook as yodlee_webhook
from leadsman.lab.processes.ports import free_ports

if TYPE_CHECKING:
    from pathlib import Path

    from account_linking.demo.simulator.banks import SimulatedBanks
    from account_linking.providers.model import Verify

BODY = plaid.webhook("item-1")


@pytest.fixture
def verify(plaid_settings: dict[str, str]) -> Verify:
    return plaid_webhook.verifier(plaid_settings)


def incoming(token: str, body: bytes = BODY) -> IncomingWebhook:
    return IncomingWebhook(headers={"plaid-verification": token}, body=body)


def base64url(value: bytes) -> bytes:
    return base64.urlsafe_b64encode(value).rstrip(b"=")


def test_a_signed_webhook_is_accepted_and_identified_by_what_was_signed(verify: Verify, signer: plaid.Signer) -> None:
    issued = int(time.time())
    tokens = [signer.sign(BODY, issued=issued), signer.sign(BODY, issued=issued), signer.sign(BODY, issued=issued - 1)]

    deliveries = [verify(incoming(token)) for token in tokens]

    assert tokens[0] != tokens[1]
    assert deliveries[0] == deliveries[1] != deliveries[2]


def test_one_space_more_in_the_body_is_refused(verify: Verify, signer: plaid.Signer) -> None:
    token = signer.sign(BODY)

    with pytest.raises(WebhookRefused, match="not the one that was signed"):
        verify(incoming(token, BODY + b" "))


@pytest.mark.parametrize("seconds", [-301, 60])
def test_a_token_from_another_time_is_refused(verify: Verify, signer: plaid.Signer, seconds: float) -> None:
    token = signer.sign(BODY, issued=time.time() + seconds)

    with pytest.raises(WebhookRefused, match="Issued at"):
        verify(incoming(token))


def test_an_unsigned_token_is_refused(verify: Verify) -> None:
    token = jwt.encode({"iat": time.time()}, "", algorithm="none", headers={"kid": "key-1"})

    with pytest.raises(WebhookRefused, match="ES256"):
        verify(incoming(token))


def test_a_token_signed_with_the_public_key_as_a_password_is_refused(verify: Verify, signer: plaid.Signer) -> None:
    signer.sign(BODY)
    head, claims = (json.dumps(part).encode() for part in ({"alg": "HS256", "kid": "key-1"}, {"iat": time.time()}))
    signed = b".".join(map(base64url, (head, claims)))
    password = json.dumps(signer.public("key-1")).encode()
    token = b".".join((signed, base64url(hmac.digest(password, signed, "sha256")))).decode()

    with pytest.raises(WebhookRefused, match="ES256"):
        verify(incoming(token))


def test_a_token_signed_with_another_key_is_refused(verify: Verify, signer: plaid.Signer) -> None:
    signer.sign(BODY)
    other_signer = plaid.Signer(keys={"key-1": ec.generate_private_key(ec.SECP256R1())})

    with pytest.raises(WebhookRefused, match="no valid signature"):
        verify(incoming(other_signer.sign(BODY)))


def test_an_unknown_key_is_refused(verify: Verify) -> None:
    other_signer = plaid.Signer(key_id="unknown-key")

    with pytest.raises(WebhookRefused, match="has no key") as refused:
        verify(incoming(other_signer.sign(BODY)))

    assert refused.value.status == 401


def test_an_expired_key_is_refused(verify: Verify, signer: plaid.Signer) -> None:
    signer.expired.add("key-2")
    token = signer.sign(BODY, key_id="key-2")

    with pytest.raises(WebhookRefused, match="expired"):
        verify(incoming(token))


def test_a_key_is_fetched_once(verify: Verify, signer: plaid.Signer, banks: SimulatedBanks) -> None:
    verify(incoming(signer.sign(BODY, issued=time.time() - 1)))
    before = banks.call_counts["calls"]

    verify(incoming(signer.sign(BODY, issued=time.time() - 2)))

    assert banks.call_counts["calls"] == before


def test_a_webhook_is_refused_with_503_while_plaid_sends_no_key(signer: plaid.Signer) -> None:
    (closed_port,) = free_ports(1)
    verify = plaid_webhook.verifier(
        {"PLAID_URL": f"http://127.0.0.1:{closed_port}", "PLAID_CLIENT_ID": "x", "PLAID_SECRET": "y"}
    )

    with pytest.raises(WebhookRefused) as refused:
        verify(incoming(signer.sign(BODY)))

    assert refused.value.status == 503


@given(st.text(max_size=60) | st.from_regex(r"[\w-]+\.[\w-]+\.[\w-]*", fullmatch=True))
def test_any_header_text_is_refused_without_another_error(token: str) -> None:
    verify = plaid_webhook.verifier({"PLAID_URL": "http://127.0.0.1:9", "PLAID_CLIENT_ID": "x", "PLAID_SECRET": "y"})

    with pytest.raises(WebhookRefused):
        verify(incoming(token))


def test_an_unsigned_webhook_needs_the_secret_and_the_source() -> None:
    secret = "a-secret-of-twenty-four-chars"
    verify = unsigned({"YODLEE_WEBHOOK_SECRET": secret, "YODLEE_WEBHOOK_SOURCES": "10.0.0.0/8"}, prefix="YODLEE")

    verify(IncomingWebhook(headers={}, body=b"", secret=secret, source="10.1.2.3"))

    with pytest.raises(WebhookRefused, match="secret"):
        verify(IncomingWebhook(headers={}, body=b"", secret="another", source="10.1.2.3"))
    with pytest.raises(WebhookRefused, match="not in"):
        verify(IncomingWebhook(headers={}, body=b"", secret=secret, source="11.1.2.3"))


def test_without_settings_an_unsigned_webhook_is_refused() -> None:
    verify = unsigned({}, prefix="YODLEE")

    with pytest.raises(WebhookRefused, match="not set"):
        verify(IncomingWebhook(headers={}, body=b"", secret="", source="127.0.0.1"))


def test_one_webhook_of_yodlee_is_one_fetch_task_a_user() -> None:
    body = yodlee.webhook(["anna", "böö"], since=0, until=900)

    found = yodlee_webhook.fetch_tasks(body)

    window = "fromDate=2026-06-01T00:00:00Z&toDate=2026-06-01T00:15:00Z"
    assert found == (
        FetchTask(provider="yodlee", item="anna", link=window),
        FetchTask(provider="yodlee", item="böö", link=window),
    )


@pytest.mark.parametrize(
    "href",
    [
        "https://evil.example/dataExtracts/userData?fromDate=a&toDate=b&loginName=anna",
        "//evil.example/dataExtracts/userData?fromDate=a&toDate=b&loginName=anna",
        "dataExtracts/userData?fromDate=a&toDate=b&loginName=another-user",
        "admin/users?fromDate=a&toDate=b&loginName=anna",
    ],
)
def test_a_webhook_cannot_choose_what_is_called(href: str) -> None:
    user = {"user": {"loginName": "anna"}, "links": [{"rel": "getUserData", "href": href}]}
    body = json.dumps({"event": {"info": "DATA_UPDATES.USER_DATA", "data": {"userData": [user]}}}).encode()

    with pytest.raises(Poison, match="is not to"):
        yodlee_webhook.fetch_tasks(body)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"event": 5}', b"\xff", b'{"webhook_code": null}'])
def test_a_body_that_is_no_webhook_is_poison(body: bytes) -> None:
    with pytest.raises(Poison):
        yodlee_webhook.fetch_tasks(body)
    with pytest.raises(Poison):
        plaid_webhook.fetch_tasks(body)


def test_a_webhook_that_cannot_be_stored_gets_503_with_retry_after(tmp_path: Path) -> None:
    closed_port = free_ports(1)[0]
    settings = {
        "KAFKA_BOOTSTRAP": f"127.0.0.1:{closed_port}",
        "ACCOUNT_LINKING_STORE": str(tmp_path / "items.sqlite"),
        "FDX_WEBHOOK_SECRET": "a-secret-of-enough-characters",
        "FDX_WEBHOOK_SOURCES": "127.0.0.0/8",
    }
    body = b'{"notificationType": "TRANSACTIONS_UPDATED", "customerId": "c"}'

    with serve(receiver.app(settings), free_ports(1)[0]) as url:
        answer = httpx.post(f"{url}/webhooks/fdx/a-secret-of-enough-characters", content=body, timeout=20)

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")

"""Logs and errors show no secret, and quote nothing of a provider's answer that is not on a list."""

from __future__ import annotations

import json
import logging
import logging.config
import threading
import traceback
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from account_linking import receiver
from account_linking.access_log import without_secret
from account_linking.errors import TryLater
from account_linking.providers.model import ApiResponse, FetchTask, LinkedItem
from account_linking.requester.worker import Requester
from account_linking.store import SqliteStore
from leadsman.lab.processes.ports import free_ports
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from pathlib import Path

PLANTED = "planted-4929000000006"
SECRET = "a-planted-secret-of-enough-characters"
WINDOW = "fromDate=2026-06-01T00:00:00Z&toDate=2026-06-01T00:15:00Z"
PROVIDERS = ("plaid", "yodlee", "fdx")
NAMES = (
    "error_code",
    "errorCode",
    "added",
    "modified",
    "removed",
    "accounts",
    "account",
    "transaction",
    "transactions",
    "next_cursor",
    "has_more",
    "asOf",
    "page",
    "accountId",
    "account_id",
    "id",
    PLANTED,
)
VALUES = st.sampled_from(
    [PLANTED, 0, None, True, f"Y80{PLANTED}", f"https://{PLANTED}/?x", 4929000000006.0, PLANTED * 9]
)
DOCUMENTS = st.recursive(
    VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=12,
)
BODIES = DOCUMENTS.map(lambda each: json.dumps(each).encode()) | st.binary().map(lambda each: PLANTED.encode() + each)
LINKS: tuple[dict[str, str], ...] = ({}, {"link": f"<{PLANTED}>; rel=next"}, {"link": PLANTED})
STATUSES = st.sampled_from([200, 200, 400, 401, 403, 404])


@dataclass(slots=True)
class HostileApi:
    """A provider that answers anything, until the invocation's deadline."""

    answer: ApiResponse
    calls: int = 0

    def call(self, *_: object, **__: object) -> ApiResponse:
        self.calls += 1
        if self.calls > 5:
            raise TryLater("The deadline is near.")
        return self.answer


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> SqliteStore:
    made = SqliteStore(tmp_path_factory.mktemp("hostile") / "items.sqlite")
    made.add([LinkedItem(provider=name, item="i", user="u", token=PLANTED) for name in PROVIDERS])
    return made


@pytest.mark.parametrize("provider", PROVIDERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(answer=st.builds(ApiResponse, STATUSES, BODIES, st.sampled_from(LINKS)))
def test_no_error_and_no_log_line_quotes_an_answer(
    store: SqliteStore, caplog: pytest.LogCaptureFixture, provider: str, answer: ApiResponse
) -> None:
    caplog.clear()
    caplog.set_level(logging.DEBUG)
    api = HostileApi(answer)
    requester = Requester(store=store, api=lambda *_: api, publish=lambda *_, **__: None)

    shown = error_of(requester, FetchTask(provider=provider, item="i", link=WINDOW))

    assert "4929" not in shown + caplog.text
    assert "planted" not in shown + caplog.text


def error_of(requester: Requester, task: FetchTask) -> str:
    """The error as Lambda prints it: with its type, sentence, and the errors that it came from."""
    try:
        requester.handle(task, timeout=timedelta(seconds=0.05))
    except Exception as error:  # noqa: BLE001 - any error is printed
        chain = "".join(traceback.format_exception(error))
        return "\n".join(line for line in chain.splitlines() if not line.startswith("    "))  # less the source's lines
    return ""


def test_a_code_on_the_list_is_quoted(store: SqliteStore) -> None:
    answers = {
        "plaid": ApiResponse(400, b'{"error_code": "INSTITUTION_DOWN"}'),
        "yodlee": ApiResponse(400, b'{"errorCode": "Y800", "errorMessage": "Invalid value for planted"}'),
    }

    shown = {
        name: error_of(
            Requester(store=store, api=lambda *_, answer=answer: HostileApi(answer), publish=lambda *_, **__: None),
            FetchTask(provider=name, item="i", link=WINDOW),
        )
        for name, answer in answers.items()
    }

    assert "INSTITUTION_DOWN" in shown["plaid"]
    assert "Y800" in shown["yodlee"]


def serve_with_access_log(application: Any, log: Path) -> tuple[uvicorn.Server, threading.Thread, str]:
    """Start uvicorn as its command line does, with its own logging into a file."""
    config = json.loads(json.dumps(uvicorn.config.LOGGING_CONFIG))
    for name in ("default", "access"):
        config["handlers"][name] = {
            "class": "logging.FileHandler",
            "filename": str(log),
            "formatter": name,
        }
        config["formatters"][name]["use_colors"] = False
    (port,) = free_ports(1)
    server = uvicorn.Server(
        uvicorn.Config(application, factory=True, host="127.0.0.1", port=port, log_config=config, log_level="debug")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(lambda: server.started, timeout=timedelta(seconds=20), what="uvicorn")
    return server, thread, f"http://127.0.0.1:{port}"


PATHS = (
    f"/webhooks/fdx/{SECRET}",
    f"/webhooks/fdx/{SECRET}/",
    f"/webhooks/fdx/{SECRET}?x={SECRET}",
    f"/webhooks/{SECRET}",
    f"/webhooks/{SECRET}/fdx",
    f"/webhooks/fdx?secret={SECRET}",
    f"//webhooks/fdx/{SECRET}",
    f"/{SECRET}",
    f"/webhooks/fdx/%61{SECRET[1:]}",
)


def test_no_access_log_has_the_secret_of_a_webhooks_url(tmp_path: Path) -> None:
    values = {
        "KAFKA_BOOTSTRAP": f"127.0.0.1:{free_ports(1)[0]}",
        "ACCOUNT_LINKING_STORE": str(tmp_path / "items.sqlite"),
        "FDX_WEBHOOK_SECRET": SECRET,
        "FDX_WEBHOOK_SOURCES": "10.0.0.0/8",
    }
    log = tmp_path / "uvicorn.log"
    server, thread, url = serve_with_access_log(lambda: receiver.app(values), log)

    statuses = [httpx.post(url + path, content=b"{}", timeout=20).status_code for path in PATHS]
    server.should_exit = True
    thread.join(20)

    lines = [line for line in log.read_text().splitlines() if "POST" in line]
    assert set(statuses) <= {401, 404, 307}
    assert len(lines) == len(PATHS)
    assert "planted" not in log.read_text()
    assert "/webhooks/fdx/*** " in lines[0]


@given(st.text(max_size=20).map(lambda each: f"/{each}{SECRET}") | st.sampled_from(PATHS))
def test_no_path_shows_the_secret(path: str) -> None:
    assert "planted" not in without_secret(path)


def test_an_item_shows_no_token() -> None:
    link = LinkedItem(provider="plaid", item="i", user="u", token=PLANTED)

    assert PLANTED not in repr(link)

"""A third way in beside Plaid, Yodlee and FDX is one folder: added to a copy of the tree, its webhook becomes a row."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "account_linking"

JOURNEY = """
import json, sys, tempfile
from datetime import timedelta

import account_linking
from account_linking import fetch_tasks
from account_linking.demo.fetch_harness import kafka_frame
from account_linking.fanout import split_webhooks
from account_linking.kafka_event import Record
from account_linking.providers import every_provider
from account_linking.providers.model import ApiResponse, IncomingWebhook, LinkedItem
from account_linking.requester.worker import Requester
from account_linking.store import SqliteStore
from account_linking.tables.ingest import Ingestion
from account_linking.tables.layout import Layout
from account_linking.topics import all_topics
from leadsman.pipeline.spark.session import SessionOptions, session

ANSWERS = json.loads(sys.argv[1])


class Api:
    def call(self, method, path, **_):
        return ApiResponse(200, json.dumps(ANSWERS[path]).encode())


settings = {"NORDBANK_WEBHOOK_SECRET": "a-secret-of-enough-characters", "NORDBANK_WEBHOOK_SOURCES": "192.0.2.0/24"}
body = b'{"notificationType": "TRANSACTIONS_UPDATED", "customerId": "c"}'
every_provider()["nordbank"].verifier(settings)(
    IncomingWebhook(headers={}, body=body, secret="a-secret-of-enough-characters", source="192.0.2.1")
)
webhook = Record(topic="webhook.raw", partition=0, offset=0, value=body, headers={"provider": "nordbank"})
(announced,) = split_webhooks([webhook])
with tempfile.TemporaryDirectory() as folder:
    store = SqliteStore(folder + "/items.sqlite")
    store.add([LinkedItem(provider="nordbank", item="c", user="anna", token="t")])
    published = []
    requester = Requester(store=store, api=lambda *_: Api(), publish=lambda records, **_: published.extend(records))
    requester.handle(fetch_tasks.load(announced.value), timeout=timedelta(seconds=30))
    layout = Layout(folder + "/tables")
    with session(SessionOptions(delta=True)) as spark:
        layout.create(spark)
        Ingestion(layout).ingest(kafka_frame(spark, list(enumerate(published))))
        rows = spark.read.format("delta").load(layout.path("classified")).collect()
        names = ("provider", "provider_transaction_id", "amount", "class", "class_source")
        found = [[str(row[name]) for name in names] for row in rows]
print(json.dumps({"file": account_linking.__file__, "topics": all_topics(tuple(every_provider())), "rows": found}))
"""


def write_provider(tree: Path) -> Path:
    """Write the folder of a provider, by the shortest example, with a field and a category of its own."""
    folder = tree / "account_linking" / "providers" / "nordbank"
    shutil.copytree(SOURCE / "providers" / "fdx", folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in folder.glob("*.py"):
        text = path.read_text().replace("fdx", "nordbank").replace("FDX_", "NORDBANK_").replace('"FDX"', '"NORDBANK"')
        path.write_text(text.replace("transactionId", "entryReference"))
    (folder / "classes.csv").write_text("primary,detailed,class\nPension fund,*,savings\n")
    return folder


@pytest.mark.long  # a copy of the tree, with a Spark session of its own
@pytest.mark.spark
def test_a_provider_is_one_folder(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(SOURCE, tree / "account_linking", ignore=shutil.ignore_patterns("__pycache__"))
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    folder = write_provider(tree)
    entry = {
        "entryReference": "e1",
        "accountId": "a",
        "amount": 12.5,
        "currency": "NOK",
        "debitCreditMemo": "DEBIT",
        "status": "POSTED",
        "postedTimestamp": "2026-06-01T00:00:00Z",
        "description": "x",
        "category": "Pension fund",
    }
    answers = {
        "/customers/c/accounts": {"asOf": "2026-06-02T00:00:00Z", "accounts": [{"accountId": "a"}]},
        "/accounts/a/transactions": {"transactions": [entry], "page": {}},
    }

    done = subprocess.run(
        [sys.executable, "-B", "-c", JOURNEY, json.dumps(answers)],
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tree)},
    )

    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["file"].startswith(str(tree))
    assert found["rows"] == [["nordbank", "e1", "-12.500000000000000000", "savings", "provider"]]
    assert "provider.nordbank.transactions.raw" in found["topics"]
    after = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file() and folder not in path.parents}
    assert after == before

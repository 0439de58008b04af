"""Every example in docs/clients.md and in the package runs, on a real broker."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import leadsman_clients

if TYPE_CHECKING:
    from leadsman.lab.brokers.cluster import Cluster

PAGE = Path(__file__).parent.parent.parent / "docs" / "clients.md"
OPTIONS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
MODULES = [module.name for module in pkgutil.walk_packages(leadsman_clients.__path__, "leadsman_clients.")]


def failures(example: doctest.DocTest) -> list[str]:
    output: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=OPTIONS).run(example, out=output.append)
    return output


@pytest.mark.lab
def test_every_example_of_the_page_runs(broker: Cluster, server: Any) -> None:
    broker.create_topic("payments")
    broker.create_topic("payments.dead")
    text = PAGE.read_text(encoding="utf-8").replace("localhost:9092", broker.bootstrap)
    text = text.replace("port=5432", f"port={server.port}")
    server.run("alter user app password 'token'")
    names = {"new_token": lambda: "token"}

    failed = failures(doctest.DocTestParser().get_doctest(text, names, "clients.md", str(PAGE), 0))

    assert failed == []


@pytest.mark.parametrize("name", MODULES)
def test_every_example_in_the_code_runs(name: str) -> None:
    module = importlib.import_module(name)

    failed = [text for example in doctest.DocTestFinder().find(module, name) for text in failures(example)]

    assert failed == []

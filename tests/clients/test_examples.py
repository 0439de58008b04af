"""Every example in docs/clients.md and in the package does what it says, on a real broker."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import leadsman.clients

if TYPE_CHECKING:
    from leadsman.lab.cluster import Cluster

PAGE = Path(__file__).parent.parent.parent / "docs" / "clients.md"
OPTIONS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
MODULES = [module.name for module in pkgutil.walk_packages(leadsman.clients.__path__, "leadsman.clients.")]


def failures(example: doctest.DocTest) -> list[str]:
    told: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=OPTIONS).run(example, out=told.append)
    return told


@pytest.mark.lab
def test_every_example_of_the_page_runs(broker: Cluster, server: Any) -> None:
    broker.create_topic("payments")
    broker.create_topic("payments.dead")
    text = PAGE.read_text(encoding="utf-8").replace("localhost:9092", broker.bootstrap)
    text = text.replace("port=5432", f"port={server.port}")
    server.run("alter user app password 'token'")
    known = {"new_token": lambda: "token"}

    told = failures(doctest.DocTestParser().get_doctest(text, known, "clients.md", str(PAGE), 0))

    assert told == []


@pytest.mark.parametrize("name", MODULES)
def test_every_example_in_the_code_runs(name: str) -> None:
    module = importlib.import_module(name)

    told = [words for example in doctest.DocTestFinder().find(module, name) for words in failures(example)]

    assert told == []

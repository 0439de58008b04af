"""The page shows the measured figures of freeing producer ids, and the remedy agrees with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leadsman.catalogue import MODES
from leadsman.lab.freeing.methods import every_method
from leadsman.lab.freeing.table import render
from leadsman.modes.producer_id_leak.broker_versions import version_range

RESULTS = Path(__file__).parents[2] / "docs" / "freeing.json"
MEASURED: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
PAGE = (MODES / "producer_id_leak" / "page.md").read_text(encoding="utf-8")


def freed(version: str, way: str) -> bool:
    tried = MEASURED[version]["ways"][way]
    return bool(tried["after"] < tried["before"] / 10)


def test_the_page_shows_what_was_measured() -> None:
    assert render(MEASURED) in PAGE


def test_a_version_of_each_range_was_measured_in_every_way() -> None:
    assert {(version_range(version).trim_frees, version_range(version).dynamic) for version in MEASURED} == {
        (True, False),
        (False, False),
        (False, True),
    }
    assert all(each["ways"].keys() == {way.name for way in every_method()} for each in MEASURED.values())


@pytest.mark.parametrize("version", MEASURED)
def test_what_the_remedy_believes_of_a_version_is_what_it_did(version: str) -> None:
    versions = version_range(version)

    assert freed(version, "trim") == versions.trim_frees
    assert versions.setting in MEASURED[version]["ways"]["expiry"]["by"]
    assert ("with a restart" in MEASURED[version]["ways"]["expiry"]["by"]) != versions.dynamic


@pytest.mark.parametrize("version", MEASURED)
def test_the_code_fix_alone_frees_nothing_and_neither_does_a_restart(version: str) -> None:
    assert not freed(version, "code_fix")
    assert not freed(version, "restart")


@pytest.mark.parametrize("version", MEASURED)
def test_expiry_frees_ids_on_every_version_and_deletion_where_trimming_does_not(version: str) -> None:
    assert freed(version, "expiry")
    assert freed(version, "delete") or version_range(version).trim_frees


@pytest.mark.parametrize("version", MEASURED)
def test_a_restart_right_after_trimming_frees_ids_but_not_one_that_comes_later(version: str) -> None:
    assert freed(version, "trim_restart")
    assert freed(version, "trim_delete_restart") == version_range(version).trim_frees

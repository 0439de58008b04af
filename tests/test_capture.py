"""The manifest is written and read back, and what is none says so."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from leadsman.capture import Item, Manifest, MissingItem, read_manifest, write_file, write_manifest
from leadsman.errors import CaptureError

if TYPE_CHECKING:
    from pathlib import Path

NOON = datetime(2026, 11, 21, 12, 0, 0, 250_000, tzinfo=UTC)


def manifest(**changes: object) -> Manifest:
    known: dict[str, object] = {
        "cluster": "lab",
        "recorded_from": NOON,
        "recorded_until": NOON,
        "host": "lab",
        "ran": "leadsman reproduce idle_disconnect",
    }
    return Manifest(**(known | changes))  # type: ignore[arg-type]


def test_a_manifest_comes_back_as_it_was_written(tmp_path: Path) -> None:
    written = manifest(
        versions={"kafka": "4.3.1"},
        stands_for={"connections.max.idle.ms": "3 s stands for 600 s"},
        settings={"producer": {"acks": "1"}},
        items=(Item(file="clients/a.log", source="client_log", command="kubectl logs a", at=NOON, note="trimmed"),),
        absent=(MissingItem(what="brokers/2/server.log", why="Permission denied"),),
        notes=("aiokafka has no setting retries",),
    )

    write_manifest(tmp_path, written)

    assert read_manifest(tmp_path) == written


WRONG = {
    "nothing": ("", "Expecting value"),
    "a list": ("[]", "the document is not an object"),
    "another version": ('{"schema": "leadsman.capture/9"}', "its schema is 'leadsman.capture/9'"),
    "deep": ("[" * 100_000, "nested too deeply"),
    "a number as a time": ({"recorded_from": 5}, "recorded_from is no time such as .*: '5'"),
    "year 10000": ({"recorded_until": "10000-01-01T00:00:00Z"}, "recorded_until is no time"),
    "no host": ({"host": None}, "host is missing"),
    "a list as a text": ({"cluster": ["a"]}, "cluster is not a text"),
    "a text as an object": ({"stands_for": "x"}, "stands_for is not an object"),
    "a number as settings": ({"settings": {"java": 7}}, "settings.java is not an object"),
    "an object as a list": ({"items": {"a": 1}}, "items is not a list"),
    "a number as an item": ({"items": [1]}, r"items\[0\] is not an object"),
    "an item without a time": ({"items": [{"file": "a"}]}, r"items\[0\].at is missing"),
    "a missing item without a name": ({"absent": [{"why": "x"}]}, r"absent\[0\].what is missing"),
}


@pytest.mark.parametrize(("wrong", "why"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_in_a_manifest_is_reported_in_words(
    tmp_path: Path, wrong: str | dict[str, object], why: str
) -> None:
    write_manifest(tmp_path, manifest())
    document = json.loads((tmp_path / "manifest.json").read_text())
    text = wrong if isinstance(wrong, str) else json.dumps(document | wrong)
    (tmp_path / "manifest.json").write_text(text)

    with pytest.raises(CaptureError, match=f"is not a manifest of leadsman.capture/1: .*{why}"):
        read_manifest(tmp_path)


def test_a_bare_folder_has_no_manifest(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) is None


@pytest.mark.parametrize(
    "text",
    ["", "not json", "[]", "{}", '{"schema": "leadsman.capture/2"}', '{"schema": "leadsman.capture/1"}'],
)
def test_a_file_that_is_no_manifest_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)

    with pytest.raises(CaptureError, match="manifest"):
        read_manifest(tmp_path)


def test_fields_of_a_later_minor_version_are_passed_over(tmp_path: Path) -> None:
    write_manifest(tmp_path, manifest())
    document = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(document | {"weather": "calm"}))

    assert read_manifest(tmp_path) == manifest()


def test_a_time_without_a_zone_is_utc(tmp_path: Path) -> None:
    write_manifest(tmp_path, manifest())
    text = (tmp_path / "manifest.json").read_text()
    (tmp_path / "manifest.json").write_text(text.replace("Z", ""))

    assert read_manifest(tmp_path) == manifest()


def test_secrets_are_masked_in_every_file_of_a_capture(tmp_path: Path) -> None:
    write_file(tmp_path, "brokers/1/server.properties", "ssl.key.password=hunter2\n")
    write_manifest(tmp_path, manifest(ran="leadsman collect --token=hunter2"))

    assert not [path for path in tmp_path.rglob("*.*") if "hunter2" in path.read_text()]


def test_bytes_that_are_no_text_survive(tmp_path: Path) -> None:
    raw = b"caf\xe9 \xff"

    write_file(tmp_path, "clients/a.log", raw.decode("utf-8", "surrogateescape"))

    assert (tmp_path / "clients/a.log").read_bytes() == raw

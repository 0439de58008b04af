"""A state is read only by the version of leadsman, and with the sources, that it was written with."""

from pathlib import Path

import pytest

from leadsman.telemetry.source import all_signatures
from leadsman.watch import stream_states
from leadsman.watch.stream_states import StreamStates

KEY = ("logs", "app.log")


@pytest.fixture(autouse=True)
def _as_new_processes():
    """Each test begins, and ends, without what a process keeps."""
    stream_states.first_line.cache_clear()
    yield
    stream_states.first_line.cache_clear()
    stream_states._CACHED.clear()


def loaded_later(folder: Path) -> object:
    """What a process that starts now finds."""
    stream_states._CACHED.clear()
    stream_states.first_line.cache_clear()
    return StreamStates(folder).load(KEY, 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    StreamStates(tmp_path).save(KEY, 1, "lines so far", made_from=0)
    return tmp_path


def test_the_next_process_finds_the_state(folder: Path):
    assert loaded_later(folder) == "lines so far"


def test_another_version_finds_none(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream_states, "__version__", "99.0")

    assert loaded_later(folder) is None


@pytest.mark.parametrize("change", [lambda every: every[1:], lambda every: (every[1], every[0], *every[2:])])
def test_with_other_signatures_or_in_another_order_there_is_none(change, folder: Path, monkeypatch: pytest.MonkeyPatch):
    """A state has signatures by their numbers: a new source lost the events of a log that had been read before."""
    other = change(all_signatures())
    monkeypatch.setattr(stream_states, "all_signatures", lambda: other)

    assert loaded_later(folder) is None

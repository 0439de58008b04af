"""Each form that the benchmark generates is what leadsman recognises, and holds what was written into it."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from leadsman.telemetry.source import all_sources
from leadsman.vocabulary import CONNECTION_CLOSED, CONNECTION_LOST, FILE_NOT_UNDERSTOOD

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.pipeline.events import EventRow

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # the benchmark is no part of the installed package

from bench.forms.collectors import LAMBDAS, SEED, FleetLogs  # noqa: E402 - on the path only now
from bench.forms.compare import MAX_SLOWER, Compared, checked_out, report  # noqa: E402 - on the path only now
from bench.forms.form import Form, Goal  # noqa: E402 - on the path only now
from bench.forms.peers import ABOUT_READING  # noqa: E402 - on the path only now
from bench.forms.rows import FORMS  # noqa: E402 - on the path only now
from bench.forms.runs import FormResult  # noqa: E402 - on the path only now
from bench.forms.table import table  # noqa: E402 - on the path only now
from bench.production.serverless_fleet import streams  # noqa: E402 - on the path only now

SIZE = 300_000
"""Bytes: more than a block, because a file's first block decides how it is read."""

WORKERS = 12
WRAPPED = [form for form in FORMS if isinstance(form.write, FleetLogs) and form.write.fleet is LAMBDAS]


def named(form: Form) -> Any:
    return pytest.param(form, id=form.name)


class FormEvents(NamedTuple):
    """What leadsman reads in a generated form: events by name, and the sources that report them."""

    names: Counter[str]
    sources: set[str]


@pytest.fixture(scope="module")
def events_of(
    rows: Callable[[Path], list[EventRow]], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Form], FormEvents]:
    """What a form holds. Each is written and read once."""
    known: dict[str, FormEvents] = {}

    def read(form: Form) -> FormEvents:
        if form.name not in known:
            folder = tmp_path_factory.mktemp("form")
            form.write(folder, SIZE)
            found = rows(folder)
            known[form.name] = FormEvents(
                Counter(row.name for row in found), {row.source for row in found if row.source}
            )
        return known[form.name]

    return read


@pytest.mark.parametrize("form", [named(form) for form in FORMS])
def test_a_generated_form_is_understood(form: Form, events_of: Callable[[Form], FormEvents]) -> None:
    found = events_of(form).names

    assert found[FILE_NOT_UNDERSTOOD] == 0
    assert found.keys() - ABOUT_READING


@pytest.mark.parametrize("form", [named(form) for form in WRAPPED])
def test_a_wrapper_hides_no_event(form: Form, rows: Callable[[Path], list[EventRow]], tmp_path: Path) -> None:
    lost = sum(
        "being disconnected" in line.text for stream in streams(LAMBDAS, Random(SEED), WORKERS) for line in stream.lines
    )  # fmt: skip - a sum on lines of its own
    assert isinstance(form.write, FleetLogs)
    form.write.hand(tmp_path, streams(LAMBDAS, Random(SEED), WORKERS))

    found = Counter(row.name for row in rows(tmp_path))

    assert found[CONNECTION_LOST] == found[CONNECTION_CLOSED] == lost > 0


@pytest.mark.parametrize("form", [named(form) for form in FORMS if form.sources])
def test_ripgrep_looks_for_the_signatures_of_sources_that_can_occur(
    form: Form, events_of: Callable[[Form], FormEvents]
) -> None:
    reported = events_of(form).sources

    assert reported <= set(form.sources) <= {source.name for source in all_sources() if source.signatures}


def nothing(folder: Path, size: int) -> None:
    """Write no file."""


def measured(name: str, *, ratio: float, events: int = 7) -> FormResult:
    form = Form(name=name, write=nothing, peer="ripgrep", goal=Goal(ratio=0.5))
    return FormResult(
        form=form, mb=1, mb_s=1, events=events, refused=(), peak_mb=1, peer_mb_s=1, ratio=ratio, also_mb_s={}
    )  # fmt: skip - a call on three lines


def test_what_is_not_read_comes_first_and_then_the_slowest() -> None:
    lines = table([measured("fast", ratio=0.9), measured("slow", ratio=0.1), measured("unread", ratio=9, events=0)])

    assert [line.split(" | ")[0] for line in lines[2:]] == ["| unread", "| slow", "| fast"]


@pytest.mark.parametrize(("times", "fails"), [(MAX_SLOWER + 0.01, True), (MAX_SLOWER - 0.01, False), (None, False)])
def test_only_a_form_that_became_slower_fails_the_comparison(times: float | None, fails: bool) -> None:  # noqa: FBT001 - a parameter of the test
    _, failed = report([Compared("CRI", 1.0), Compared("Filebeat", times, "no events")], "main")

    assert failed == fails


def interrupted(place: Path) -> None:
    with checked_out("HEAD", place) as code:
        assert (code / "leadsman").is_dir()
        raise KeyboardInterrupt


def test_the_other_revision_is_gone_after_an_interrupt(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git repository")

    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path)

    listed = subprocess.run(["git", "worktree", "list"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert str(tmp_path) not in listed
    assert list(tmp_path.iterdir()) == []

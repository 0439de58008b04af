"""The benchmark measures what it says: every tool finds the same lines, and leadsman the incident among them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman.pipeline.read.blocks import blocks
from leadsman.pipeline.read.scanner import scanner
from leadsman.pipeline.scope.streams import list_files
from leadsman.telemetry.source import all_signatures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leadsman.pipeline.events import EventRow

ROOT = Path(__file__).parent.parent
MEGABYTES, WRITERS = 1, 3


@pytest.fixture(scope="module", autouse=True)
def on_path() -> Iterator[None]:
    """The benchmark is no part of the installed package."""
    sys.path.insert(0, str(ROOT))
    yield
    sys.path.remove(str(ROOT))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from bench.generate import generate

    return generate(tmp_path_factory.mktemp("bench"), MEGABYTES, WRITERS)


def peer(name: str, logs: Path, out: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.peers", name, str(logs), str(out), "2"]
    reported = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return dict(json.loads(reported.stdout))


@pytest.fixture(scope="module")
def hits(logs: Path) -> int:
    """How many lines the scanner finds."""
    return sum(lines_with_hits(str(path)) for path in logs.rglob("*") if path.is_file())


def lines_with_hits(path: str) -> int:
    _, scan = scanner()
    return sum(
        len({block.data.rfind(b"\n", 0, end - 1) for end, _ in scan(block.data[: block.end])}) for block in blocks(path)
    )


def test_the_same_size_gives_the_same_bytes(tmp_path: Path, logs: Path) -> None:
    from bench.generate import generate

    again = generate(tmp_path, MEGABYTES, WRITERS)

    files = {path.relative_to(logs): path.read_bytes() for path in logs.rglob("*") if path.is_file()}
    assert files == {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()}


def test_ripgrep_finds_the_lines_that_the_scanner_finds(logs: Path, hits: int, tmp_path: Path) -> None:
    from bench.jobs import Bench, ripgrep

    counted = ripgrep(Bench(logs, tmp_path, cores=2))["lines"]

    assert counted == hits > 0


@pytest.mark.parametrize("name", ["polars", "duckdb"])
def test_a_peer_finds_the_lines_that_the_scanner_finds(name: str, logs: Path, *, hits: int, tmp_path: Path) -> None:
    pytest.importorskip(name)

    counted = peer(name, logs, tmp_path)["hits"]

    assert counted == hits > 0


def test_every_line_that_a_signature_matches_holds_a_required_text() -> None:
    from bench.literals import required

    examples = (ROOT / "tests" / "telemetry" / "lines.txt").read_text().splitlines()
    patterns = [pattern for _, _, pattern in all_signatures()]
    sieve = re.compile("|".join(map(re.escape, required([pattern.pattern for pattern in patterns]))))
    matched = [line for line in examples if any(pattern.search(line) for pattern in patterns)]

    assert matched
    assert [line for line in matched if not sieve.search(line)] == []


def test_the_generated_incident_is_found(logs: Path, verdict_of: Callable[[Path], str]) -> None:
    assert verdict_of(logs) == "PRESENT"


def test_all_streams_are_read_whole(logs: Path) -> None:
    from leadsman.pipeline.events import EventRow  # numpy and Arrow, for this test alone
    from leadsman.pipeline.read.stream import read

    reported = (each for stream in list_files(str(logs)).streams for each in read(stream, UTC))
    rows = [each for each in reported if isinstance(each, EventRow)]

    lines = sum(path.read_bytes().count(b"\n") for path in logs.rglob("*") if path.is_file())
    assert sum(row.value or 0 for row in rows if row.name == "file.read") == lines


def test_a_use_of_a_live_instance_costs_microseconds_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    from bench import clients

    monkeypatch.setattr(clients, "USES", 20_000)  # a tenth: enough for a limit of twenty times the promise
    microseconds = clients.measured()

    assert 0 < microseconds["`get()`"] < 20  # the promise is 1, on a machine that does nothing else


def test_a_large_cluster_is_understood_whole(tmp_path: Path, rows: Callable[[Path], list[EventRow]]) -> None:
    from bench.leaders import LOST, generate, partitions

    count = 500
    taken_over = sum(each.replicas[0] == LOST for each in partitions(count))

    size = generate(tmp_path / "capture", count)

    states = [row for row in rows(tmp_path / "capture" / "kafka") if row.name == "partition.state"]
    moved = [
        row
        for row in rows(tmp_path / "capture" / "brokers")
        if row.name == "partition.state" and "events-" in row.labels["topic"]
    ]
    assert size > 0
    assert len(states) == 2 * count
    assert len(moved) == taken_over > 0
    assert LOST not in {int(row.labels["leader"]) for row in states[count:]}


def test_both_censuses_count_every_id(tmp_path: Path) -> None:
    from bench.census import generate, ours, theirs

    files = generate(tmp_path, 1_000)

    assert ours(tmp_path) == {"ids": 1_000, "single": 1_000}
    assert theirs(files) == {"ids": 1_000}


def test_the_lambda_streams_get_the_verdict_of_the_proving_ground(
    tmp_path: Path, verdict_of: Callable[[Path], str]
) -> None:
    from bench.lambda_streams import expected_verdict, write

    tail, java, python = write(tmp_path, share=0.005)

    assert (tail.files, java.files, python.files) == (1, java.workers, python.workers)
    assert verdict_of(tmp_path) == expected_verdict()


def test_a_command_with_another_exit_code_fails_the_benchmark(tmp_path: Path) -> None:
    from bench.whole import CommandFailed, diagnosed

    with pytest.raises(CommandFailed, match="ended with code 2"):
        diagnosed([tmp_path / "no-such-capture"])


@pytest.mark.long  # the start of a daemon takes as long as all other tests here
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_the_resident_session_is_measured_in_a_daemon_that_ctrl_c_ends() -> None:
    from bench.jobs import SMALL
    from bench.whole import daemon, diagnosed

    measured = []

    def interrupted() -> None:
        with daemon() as (process, environment):
            measured.append((process, diagnosed([SMALL], environment=environment, daemon_process=process)))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    ((process, result),) = measured
    assert not result.started_java
    assert [each["verdicts"]["idle_disconnect"] for each in result.captures()] == ["PRESENT"]
    assert not process.is_running()


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_what_detectors_cost_is_measured_on_the_pipelines_own_limits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The benchmark of detectors replaces a limit of the pipeline by its name."""
    from bench import detectors

    monkeypatch.setattr(sys, "argv", ["detectors", "--measure", "in tasks", "--row", "0"])

    detectors.main()

    assert json.loads(capsys.readouterr().out.splitlines()[-1])["events"] > 0

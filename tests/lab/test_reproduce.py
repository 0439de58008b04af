"""From a real broker to a capture and a ledger: harm where it is due, none where it is not."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import psutil
import pytest

from leadsman.capture import read_manifest
from leadsman.errors import LabError
from leadsman.lab.run.reproduce import RunOutcome, run
from leadsman.lab.workload.clients import client_names
from leadsman.modes.idle_disconnect.scenario import EXPERIMENT, run_blocked_io_threads, run_idle_workers
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from leadsman.lab.run.experiment import Experiment

GAPS = {"worker-1": (0.5, 5.5), "worker-2": (5.6, 0.4), "worker-3": (1.5, 5.4)}
"""One long gap each: the shortest run that shows the failure."""

CALL = """
import sys
from pathlib import Path
from leadsman.lab.run.reproduce import RunOutcome, run
from leadsman.modes.idle_disconnect.scenario import EXPERIMENT
run(EXPERIMENT, out=Path(sys.argv[1]), progress=lambda line: print(line, flush=True))
"""


def short() -> Experiment:
    """The mode's experiment with few gaps."""
    variants = {
        name: replace(variant, run=partial(run_idle_workers, idle_gaps=GAPS))
        if name in {"broken", "cured"}
        else variant
        for name, variant in EXPERIMENT.variants.items()
    }
    return replace(EXPERIMENT, variants=variants)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made during the test."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.lab
def test_broken_loses_records_and_leaves_a_capture(tmp_path: Path, scratch: Path) -> None:
    before = psutil.Process().children(recursive=True)

    outcome = run(short(), out=tmp_path / "capture", variant="broken")

    manifest = read_manifest(outcome.capture)
    assert manifest is not None
    assert outcome.ledger.lost == ("worker-1:4", "worker-2:3", "worker-3:4")
    assert manifest.stands_for == {"connections.max.idle.ms": "3 s stands for 600 s"}
    assert all((outcome.capture / item.file).stat().st_size for item in manifest.items)
    assert manifest.absent == ()
    assert "failed: KafkaError{code=_TRANSPORT" in (outcome.capture / "clients" / "worker-1.log").read_text()
    assert "connections.max.idle.ms=3000" in (outcome.capture / "brokers" / "1" / "server.properties").read_text()
    assert "Topic: orders" in (outcome.capture / "kafka" / "topics.txt").read_text()
    assert psutil.Process().children(recursive=True) == before
    assert not list(scratch.iterdir())


@pytest.mark.lab
@pytest.mark.long
def test_a_callback_that_keeps_the_io_thread_loses_records_on_a_direct_path(tmp_path: Path) -> None:
    variant = replace(EXPERIMENT.variants["broken_stalled"], run=partial(run_blocked_io_threads, idle_gaps=GAPS))

    outcome = run(
        replace(EXPERIMENT, variants={"broken_stalled": variant}), out=tmp_path / "capture", variant="broken_stalled"
    )

    assert outcome.client.startswith("java@")
    assert outcome.ledger.lost == ("worker-1:6", "worker-2:4", "worker-3:6")


def test_a_variant_for_one_client_refuses_others(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="leave --client out"):
        run(EXPERIMENT, out=tmp_path / "capture", variant="broken_stalled", client="aiokafka")


@pytest.fixture(scope="module")
def cured(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    """A run of which the lab's own folder is kept."""
    return run(short(), out=tmp_path_factory.mktemp("cured") / "capture", variant="cured", keep=True)


@pytest.mark.lab
def test_cured_loses_nothing(cured: RunOutcome) -> None:
    assert not cured.is_harmed
    assert cured.ledger.acknowledged == cured.ledger.sent


@pytest.mark.lab
def test_keep_leaves_the_labs_own_folder_beside_the_capture(cured: RunOutcome) -> None:
    assert cured.lab_folder is not None
    assert cured.lab_folder == cured.capture.with_name("capture.lab")
    assert list(cured.lab_folder.glob("1/data/orders-0/*.log"))


@pytest.mark.lab
@pytest.mark.long
def test_a_broker_restart_stands_in_the_capture(tmp_path: Path) -> None:
    outcome = run(EXPERIMENT, out=tmp_path / "capture", variant="broker_restart")

    log = (outcome.capture / "brokers" / "1" / "server.log").read_text()
    assert log.count("Kafka Server started") == 3
    assert "[BrokerServer id=1] shutting down" in log


@pytest.mark.lab
def test_a_failure_leaves_no_program_no_folder_and_no_capture(tmp_path: Path, scratch: Path) -> None:
    def fail(line: str) -> None:
        if "idle for" in line:
            raise ZeroDivisionError

    before = psutil.Process().children(recursive=True)

    with pytest.raises(ZeroDivisionError):
        run(EXPERIMENT, out=tmp_path / "capture", progress=fail)

    assert psutil.Process().children(recursive=True) == before
    assert not list(scratch.iterdir())
    assert not (tmp_path / "capture").exists()


@pytest.mark.lab
@pytest.mark.parametrize(
    "first_line",
    # Between the other two the lab has a broker and no workers yet, or some of them.
    ["Starting a Kafka", pytest.param("Starting 4 workers", marks=pytest.mark.long), "worker-1 was idle"],
)
def test_ctrl_c_leaves_no_program_and_no_folder(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch, first_line: str
) -> None:
    monkeypatch.setenv("TMPDIR", str(scratch))
    command = [sys.executable, "-c", CALL, str(tmp_path / "capture")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as lab:
        assert lab.stdout is not None
        seen = next((line for line in lab.stdout if line.startswith(first_line)), "")
        assert seen, lab.communicate()
        wait_for(
            lambda: psutil.Process(lab.pid).children(), timeout=timedelta(seconds=30), what="a program to be started"
        )
        programs = psutil.Process(lab.pid).children(recursive=True)

        lab.send_signal(signal.SIGINT)
        _, errors = lab.communicate(timeout=60)

    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert not [program for program in programs if program.is_running()]
    assert not list(scratch.iterdir())
    assert not (tmp_path / "capture").exists()


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")

    with pytest.raises(LabError, match="not empty"):
        run(EXPERIMENT, out=tmp_path)


@pytest.mark.parametrize(("client", "variant"), [("rust", "broken"), ("java", "brken")])
def test_what_does_not_exist_is_reported_before_anything_starts(tmp_path: Path, client: str, variant: str) -> None:
    with pytest.raises(LabError, match="It has"):
        run(EXPERIMENT, out=tmp_path, client=client, variant=variant)


@pytest.mark.long
@pytest.mark.parametrize("client", client_names())
@pytest.mark.parametrize("variant", ["broken", "broken_frozen", "broken_silent"])
def test_every_client_suffers(tmp_path: Path, client: str, variant: str) -> None:
    outcome = run(EXPERIMENT, out=tmp_path / "capture", client=client, variant=variant)

    kind = "delayed" if client == "aiokafka" and variant != "broken_silent" else "lost"
    assert outcome.harm[kind] >= 4
    assert "busy-1" not in outcome.ledger.harm_by_worker()


@pytest.mark.long
@pytest.mark.parametrize("client", [name for name in client_names() if name.startswith("java")])
def test_every_java_client_suffers_when_its_sender_is_blocked(tmp_path: Path, client: str) -> None:
    outcome = run(EXPERIMENT, out=tmp_path / "capture", client=client, variant="broken_stalled")

    assert outcome.harm["lost"] >= 4
    assert "busy-1" not in outcome.ledger.harm_by_worker()


@pytest.mark.long
@pytest.mark.parametrize("client", client_names())
@pytest.mark.parametrize("variant", ["cured", "benign_close"])
def test_no_client_suffers(tmp_path: Path, client: str, variant: str) -> None:
    outcome = run(EXPERIMENT, out=tmp_path / "capture", client=client, variant=variant)

    assert not outcome.is_harmed


@pytest.mark.long
@pytest.mark.parametrize("client", client_names())
def test_every_client_meets_a_broker_restart(tmp_path: Path, client: str) -> None:
    outcome = run(EXPERIMENT, out=tmp_path / "capture", client=client, variant="broker_restart")

    assert outcome.ledger.sent > 50

"""The incidents that are watched: what their first harm is, what cures them, and which telemetry goes on afterwards."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.catalogue import modes_named
from leadsman.errors import LabError
from leadsman.lab.network import hosts
from leadsman.lab.processes.program import TOOL_TIMEOUT
from leadsman.lab.run.observed_run import first_failure, has_stopped_service

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leadsman.lab.run.run_context import RunContext

NOT_HOSTS = frozenset({"tools"})
"""Instances of the network that are the lab's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A variant to watch. `first_harm` and `cure` say what was timed, `finds_harm` when it was, None while it was not.

    `cures` is called when the variant is over; the cure is then, or when a variant says itself that it has recovered.
    `ends` returns when the variant ended the harm itself, if it does and does not mark it. `collects` adds telemetry to
    the capture, as a collection at an interval does. `failure_seconds`: how much longer the failure lasts. `idle_time`
    is the watch's `--resolved-after`, for the default of 15 minutes and of a day: longer than no harm can be seen.
    """

    mode: str
    variant: str
    first_harm: str
    cure: str
    finds_harm: Callable[[RunContext], datetime | bool | None]
    collects: Callable[[RunContext], None]
    cures: Callable[[RunContext], None] = lambda _: None
    ends: Callable[[RunContext], bool] = lambda _: False
    client: str = "java"
    failure_seconds: float = 0.0
    idle_time: timedelta = timedelta(seconds=30)

    @property
    def name(self) -> str:
        """Its name on the command line, and among the saved figures."""
        return f"{self.mode}:{self.variant}"


def _is_any_worker_over(context: RunContext) -> bool:
    return not all(worker.program.is_running for worker in list(context.workers.values()))


def _restart_with_cure(context: RunContext) -> None:
    """End the workers, and start as many with the settings of the cured variant, as a deployment does."""
    (mode,) = modes_named(["idle_disconnect"])
    workload = mode.scenario.EXPERIMENT.variant("cured").workload
    settings = {**workload.settings, **workload.settings_by_client["java"]}
    names = list(context.workers)
    for name in names:
        context.workers[name].quit()
    for name in names:
        worker = context.spawn(f"{name}-cured", settings)
        worker.send()
        worker.await_report(is_warm_up=True)


def _send_and_collect(context: RunContext) -> None:
    """Let each cured worker send after it was idle for longer than the limit, and collect from the cluster."""
    for name, worker in context.workers.items():
        if name.endswith("-cured") and not worker.deliver().acknowledged:
            raise LabError(f"A record of {name} failed, although its settings are the cure.")
    _collect_kafka(context)


def _collect_kafka(context: RunContext) -> None:
    """Run `leadsman collect kafka` into the watched capture."""
    out = ("--bootstrap", context.cluster.bootstrap, "--out", str(context.recorder.folder))
    command = [sys.executable, "-m", "leadsman", "collect", "kafka", *out]
    subprocess.run(command, capture_output=True, check=False, timeout=TOOL_TIMEOUT.total_seconds())


def _census(context: RunContext) -> None:
    context.monitor.census()


def _collect_hosts(context: RunContext) -> None:
    assert context.fabric is not None
    hosts.record_hosts(context, *(name for name in context.fabric.instances if name not in NOT_HOSTS))


INCIDENTS = (
    Incident(
        mode="idle_disconnect",
        variant="broken",
        first_harm="a record was lost",
        cure="workers started with the cure",
        finds_harm=first_failure,
        cures=_restart_with_cure,
        collects=_send_and_collect,
    ),
    Incident(
        mode="producer_id_leak",
        variant="broken",
        first_harm="the leak began",
        cure="workers ended",
        finds_harm=lambda _: True,
        ends=_is_any_worker_over,
        collects=_census,
    ),
    Incident(
        mode="leaderless_partition",
        variant="broken",
        first_harm="a consumer died",
        cure="every partition has a leader",
        finds_harm=has_stopped_service,
        collects=_collect_kafka,
    ),
    Incident(
        mode="stale_neighbour",
        variant="broken_healed",
        first_harm="a record failed",
        cure="neighbour entry deleted",
        finds_harm=first_failure,
        collects=_collect_hosts,
        failure_seconds=30,
        idle_time=timedelta(seconds=60),
    ),
)
"""`stale_neighbour` fails for 30 s longer than in the recordings, as in the alerts' runs. Hosts are not collected
meanwhile, so that nothing shows the harm: its idle time is longer."""

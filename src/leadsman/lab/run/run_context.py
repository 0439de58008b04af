"""A running environment: cluster, network, workers and services, and what a variant may do with them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.interrupt import defer_interrupts
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from leadsman.lab.brokers.cluster import Cluster
    from leadsman.lab.brokers.consumer_groups import GroupPlacement
    from leadsman.lab.network.fabric import Fabric
    from leadsman.lab.network.forwarder import Forwarder
    from leadsman.lab.processes.program import Program
    from leadsman.lab.run.broker_monitor import BrokerMonitor
    from leadsman.lab.run.recorder import Recorder
    from leadsman.lab.workload.services import RunningService
    from leadsman.lab.workload.worker import Worker

WorkerScript = Callable[["Worker"], None]
"""What one worker does, in a thread of its own."""

RUN_TIMEOUT = timedelta(minutes=10)
"""An experiment that takes longer hangs: no gap in one is longer than a minute."""

CATCH_UP_SECONDS = 5.0
"""A service that is alive needs under a second for what is left when its source ends, on a busy machine some."""

SENDS_AGAIN_SECONDS = 1.0
"""The pause of a service whose record failed."""

FAULT_INJECTED, RECOVERED = "fault_injected", "recovered"
"""The marks by which a variant says when it injected its fault and when the cluster had recovered from it."""


@dataclass(slots=True, kw_only=True)
class RunContext:
    """A running cluster and its workers.

    `folder` is where workers run. `spawn` starts one more worker by name, with settings beside the variant's; on a
    `fabric`, on the instance of its name. `recorder` takes what the variant itself records.
    """

    cluster: Cluster
    forwarder: Forwarder | None
    workers: dict[str, Worker]
    folder: Path
    progress: Callable[[str], None]
    spawn: Callable[[str, Mapping[str, str]], Worker]
    recorder: Recorder
    monitor: BrokerMonitor
    fabric: Fabric | None = None
    services: Mapping[str, RunningService] = field(default_factory=dict)
    source: RunningService | None = None
    group_placement: GroupPlacement | None = None
    """The groups of the services, and the broker that coordinates them all: a fault there affects every service."""
    topic_descriptions: list[tuple[datetime, Program]] = field(default_factory=list)
    failure_seconds: float = 0.0
    """How much longer a failure lasts before the variant cures it or ends: what alerts on it may be slower."""
    marks: dict[str, datetime] = field(default_factory=dict)
    """When what happened, by the lab's own clock: a variant notes what its oracle needs."""
    _finished: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float) -> None:
        """Wait for so long: the wait is the experiment. It ends early when the scripts have finished."""
        self._finished.wait(seconds)

    def go_on_sending(self, worker: Worker) -> None:
        """Let a worker send for as long as the failure is to last longer; each record that fails takes its timeout."""
        ends = datetime.now(UTC) + timedelta(seconds=self.failure_seconds)
        while datetime.now(UTC) < ends:
            self.wait(SENDS_AGAIN_SECONDS)
            worker.deliver()

    def record_topics(self) -> None:
        """Start `kafka-topics --describe` now; its output becomes part of the capture."""
        with defer_interrupts():
            self.topic_descriptions.append((datetime.now(UTC), self.cluster.describe_topics()))

    def mark(self, event: str) -> None:
        """Note that an event happens now."""
        self.marks[event] = datetime.now(UTC)

    def warm_up(self, records: int = 2) -> None:
        """Have every worker deliver its first records, all side by side, so that its start is behind it."""
        for service in self.services.values():
            service.wait_until_processing()
        for service in self.services.values():
            service.end_warm_up()
        for _ in range(records):
            for worker in self.workers.values():
                worker.send()
            for worker in self.workers.values():
                worker.await_report(is_warm_up=True)

    def stop_programs(self) -> None:
        """Let every program end in order: the source first, so that services have a moment for its last records."""
        for worker in self.workers.values():
            worker.quit()
        if self.source is not None:
            self.source.quit()
            self.wait(CATCH_UP_SECONDS)
        for service in self.services.values():
            service.quit()

    def run_scripts(
        self,
        scripts: Mapping[str, WorkerScript],
        *,
        background: Mapping[str, WorkerScript] | None = None,
        foreground: Callable[[], None] = lambda: None,
    ) -> None:
        """Run each worker's script in a thread of its own, and `foreground` in this thread. The first failure ends all.

        Scripts in `background` run while `is_running`: until the others, and `foreground`, have finished.
        Faults that start programs belong in `foreground`: a program is killed when the thread that started it ends.
        """
        failures: list[BaseException] = []
        threads = [self._thread(self.workers[name], script, failures) for name, script in scripts.items()]
        others = [self._thread(self.workers[name], script, failures) for name, script in (background or {}).items()]
        try:
            for thread in (*threads, *others):
                thread.start()
            foreground()
            _join(threads, failures)
        finally:
            self._finished.set()
        _join(others, failures)
        for failure in failures:
            raise failure

    @property
    def is_running(self) -> bool:
        """Whether scripts in the background should go on."""
        return not self._finished.is_set()

    def _thread(self, worker: Worker, script: WorkerScript, failures: list[BaseException]) -> threading.Thread:
        def run() -> None:
            try:
                script(worker)
            except BaseException as failure:  # noqa: BLE001 - handed on to the thread that waits
                failures.append(failure)

        return threading.Thread(target=run, name=f"{worker.name}-script", daemon=True)


def _join(threads: list[threading.Thread], failures: list[BaseException]) -> None:
    def finished() -> bool:
        return bool(failures) or not any(thread.is_alive() for thread in threads)

    wait_for(finished, timeout=RUN_TIMEOUT, what="the workers to finish", error=LabError)

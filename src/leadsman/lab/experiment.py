"""What a mode asks of the lab, and the stage on which it is played. Knows no mode."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.interrupt import undisturbed
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from leadsman.lab.clients import Worker
    from leadsman.lab.cluster import Cluster
    from leadsman.lab.fabric import Fabric, Site
    from leadsman.lab.groups import Placed
    from leadsman.lab.network import Forwarder, Path
    from leadsman.lab.process import Program
    from leadsman.lab.record import Recorder
    from leadsman.lab.services import Running, Service
    from leadsman.lab.watch import Watch
    from leadsman.model import Harm

Script = Callable[["Worker"], None]
"""What one worker does, in a thread of its own."""

PLAY_WITHIN = timedelta(minutes=10)
"""An experiment that takes longer hangs: no gap in one is longer than a minute."""

CATCH_UP_SECONDS = 5.0
"""A service that is alive needs under a second for what is left when its source ends, on a busy machine some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The world in which a mode's `broken` settings fail and its `healthy` ones do not.

    `broker` are settings of every broker; `stands_for` says of each setting with a short value what it stands for
    (3 s for 600 s), so that the capture can say so.
    """

    brokers: int = 1
    broker: Mapping[str, str] = field(default_factory=dict)
    near_misses: tuple[str, ...] = ()
    stands_for: Mapping[str, str] = field(default_factory=dict)
    lasts: timedelta = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to play an experiment: broken, cured, or a near miss.

    `settings` are the programs', in the names of Kafka's Java documentation; `for_client` adds to them by client name.
    In a value, {worker} is the worker's name. `hold`: how many producers a worker holds, by its name, if not one;
    `record` for a new one a record. `broker` adds to the scenario's broker settings. `heap_mb` and `jvm` are for the
    brokers' Java. `watched`: they have a metrics agent and a log of their garbage collector. `path` is how the
    forwarder before the broker treats a connection that the broker closed; None: no forwarder. `site` gives brokers
    and workers networks of their own. `stands_for` is what the capture says about values that are scaled. `services`
    process what a source sends at a steady rate; `settings` are theirs too; with `one_process` they share a program
    and a log. `replicas` and `topic_config` are the topic's. `only`: the one client that it can be played with.
    """

    says: str
    play: Callable[[Stage], None]
    workers: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    for_client: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    hold: Mapping[str, str] = field(default_factory=dict)
    broker: Mapping[str, str] = field(default_factory=dict)
    heap_mb: int = 256
    jvm: tuple[str, ...] = ()
    watched: bool = False
    path: Path | None = None
    site: Site | None = None
    stands_for: Mapping[str, str] = field(default_factory=dict)
    services: tuple[Service, ...] = ()
    replicas: int = 1
    topic_config: Mapping[str, str] = field(default_factory=dict)
    one_process: bool = False
    only: str = ""


def nothing(_: Stage) -> Mapping[Harm, int]:
    """Find no harm beside that of the records."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One mode's experiment: a world, and the variants by name. `broken` and `cured` are always among them.

    `recordings` are the captures kept in the mode's folder: variant and client, by folder name; a third word is the
    version of the brokers. `assigned` are the brokers of each of the topic's partitions, where it matters, or there are
    so many `partitions`. `oracle` measures harm that is not in the records that workers sent, when all programs have
    ended. It reads no log and no file of the capture. `client` is who suffers unless another is asked for. `endured` is
    harm that cured clients have too: while a partition has no leader, everybody waits. `swept` names the
    services that a sweep gives its settings to; none: all of them.
    """

    mode: str
    scenario: Scenario
    variants: Mapping[str, Variant]
    recordings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    topic: str = "orders"
    assigned: tuple[tuple[int, ...], ...] = ()
    oracle: Callable[[Stage], Mapping[Harm, int]] = nothing
    partitions: int = 1
    client: str = "confluent-kafka"
    endured: frozenset[Harm] = frozenset()
    swept: tuple[str, ...] = ()

    def variant(self, name: str) -> Variant:
        """Return a variant by name; LabError names those that exist."""
        if name not in self.variants:
            raise LabError(f"{self.mode} has no variant {name}. It has: {', '.join(self.variants)}.")
        return self.variants[name]

    def player(self, variant: str, wanted: str) -> str:
        """Return the client that plays a variant: the one that is wanted, or whoever usually suffers."""
        only = self.variant(variant).only
        if only and wanted and wanted.partition("@")[0] != only:
            raise LabError(f"{variant} can be played with {only} alone, not with {wanted}: leave --client out.")
        return wanted or only or self.client


@dataclass(slots=True, kw_only=True)
class Stage:
    """A running cluster and its workers, and what a play may do with them.

    `hire` starts one more worker by name, with settings beside the variant's; on a `fabric`, on the instance of its
    name. `recorder` takes what the play itself records.
    """

    cluster: Cluster
    forwarder: Forwarder | None
    workers: dict[str, Worker]
    progress: Callable[[str], None]
    hire: Callable[[str, Mapping[str, str]], Worker]
    recorder: Recorder
    watch: Watch
    fabric: Fabric | None = None
    services: Mapping[str, Running] = field(default_factory=dict)
    source: Running | None = None
    placed: Placed | None = None
    """The groups of the services, and the broker that coordinates them all: a fault there strikes every one."""
    looks: list[tuple[datetime, Program]] = field(default_factory=list)
    marks: dict[str, datetime] = field(default_factory=dict)
    """When what happened, by the lab's own clock: a play notes what its oracle needs."""
    _over: threading.Event = field(default_factory=threading.Event)

    def quiet(self, seconds: float) -> None:
        """Let a worker do nothing for so long: the wait is the experiment. It ends early when that is over."""
        self._over.wait(seconds)

    def look(self) -> None:
        """Have `kafka-topics --describe` look at the cluster now; the capture will hold what it saw."""
        with undisturbed():
            self.looks.append((datetime.now(UTC), self.cluster.describe_topics()))

    def mark(self, what: str) -> None:
        """Note that something happens now."""
        self.marks[what] = datetime.now(UTC)

    def warm_up(self, records: int = 2) -> None:
        """Have every worker deliver its first records, all side by side, so that its start is behind it."""
        for service in self.services.values():
            service.wait_until_processing()
        for service in self.services.values():
            service.begin()
        for _ in range(records):
            for worker in self.workers.values():
                worker.send()
            for worker in self.workers.values():
                worker.answer(first=True)

    def dismiss(self) -> None:
        """Let every program end in order: the source first, so that services have a moment for its last records."""
        for worker in self.workers.values():
            worker.quit()
        if self.source is not None:
            self.source.quit()
            self.quiet(CATCH_UP_SECONDS)
        for service in self.services.values():
            service.quit()

    def together(
        self,
        scripts: Mapping[str, Script],
        *,
        alongside: Mapping[str, Script] | None = None,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        """Run each worker's script in a thread of its own, and `meanwhile` in this one. The first failure ends all.

        Scripts in `alongside` go on while `going` says so: until the others, and `meanwhile`, have finished.
        Faults that start programs belong in `meanwhile`: a program is killed when the thread that started it ends.
        """
        failures: list[BaseException] = []
        threads = [self._thread(self.workers[name], script, failures) for name, script in scripts.items()]
        others = [self._thread(self.workers[name], script, failures) for name, script in (alongside or {}).items()]
        try:
            for thread in (*threads, *others):
                thread.start()
            meanwhile()
            _finish(threads, failures)
        finally:
            self._over.set()
        _finish(others, failures)
        for failure in failures:
            raise failure

    @property
    def going(self) -> bool:
        """Whether scripts that go on alongside should still do so."""
        return not self._over.is_set()

    def _thread(self, worker: Worker, script: Script, failures: list[BaseException]) -> threading.Thread:
        def run() -> None:
            try:
                script(worker)
            except BaseException as failure:  # noqa: BLE001 (handed on to the thread that waits)
                failures.append(failure)

        return threading.Thread(target=run, name=f"{worker.name}-script", daemon=True)


def _finish(threads: list[threading.Thread], failures: list[BaseException]) -> None:
    def finished() -> bool:
        return bool(failures) or not any(thread.is_alive() for thread in threads)

    wait_for(finished, within=PLAY_WITHIN, what="the workers to finish", error=LabError)

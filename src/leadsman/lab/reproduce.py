"""Plays one variant of a mode's experiment on a real cluster, records the capture and measures the harm."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.interrupt import undisturbed
from leadsman.lab import clients
from leadsman.lab.cluster import ADDRESS, TOOL_WITHIN, Cluster, Plan
from leadsman.lab.experiment import Experiment, Stage, Variant
from leadsman.lab.fabric import Fabric
from leadsman.lab.groups import place
from leadsman.lab.ledger import Ledger, judge
from leadsman.lab.network import Forwarder
from leadsman.lab.process import HERE
from leadsman.lab.record import Recorder
from leadsman.lab.services import Home
from leadsman.lab.services import harm as harm_of
from leadsman.lab.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leadsman.lab.clients import Client, Worker
    from leadsman.lab.process import Program
    from leadsman.lab.services import Running, Service
    from leadsman.model import Harm


NEWEST_KAFKA = "4.3.1"


def in_silence(_: str) -> None:
    """Report no progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one run.

    `harm` counts by kind of harm, of records, programs and brokers; `lasted` is seconds by phase; `kept` is a copy of
    the lab's own folder.
    """

    mode: str
    variant: str
    client: str
    kafka: str
    capture: Path
    harm: Mapping[str, int]
    ledger: Ledger
    began: datetime
    ended: datetime
    lasted: Mapping[str, float]
    kept: Path | None = None
    services: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """The last that each service said of itself."""
    marks: Mapping[str, datetime] = field(default_factory=dict)
    offered: int = 0
    """Records that services should have processed."""

    @property
    def harmed(self) -> bool:
        """Whether anything was harmed."""
        return any(self.harm.values())


@dataclass(slots=True, kw_only=True)
class _Run:
    experiment: Experiment
    variant: str
    client: Client
    kafka: str
    out: Path
    progress: Callable[[str], None]
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    marks: list[tuple[str, datetime]] = field(default_factory=list)

    @property
    def plays(self) -> Variant:
        return self.experiment.variant(self.variant)

    def phase(self, name: str, says: str) -> None:
        self.marks.append((name, datetime.now(UTC)))
        self.progress(says)

    def lasted(self) -> dict[str, float]:
        ends = [at for _, at in self.marks[1:]] + [datetime.now(UTC)]
        pairs = zip(self.marks, ends, strict=True)
        return {name: round((end - at).total_seconds(), 1) for (name, at), end in pairs}


def run(
    experiment: Experiment,
    *,
    out: Path,
    client: str = "",
    variant: str = "broken",
    kafka: str = NEWEST_KAFKA,
    keep: bool = False,
    progress: Callable[[str], None] = in_silence,
) -> Outcome:
    """Play `variant` with `client`, write the capture to `out` (which must be empty), and judge by the ledger.

    Everything that was started is stopped and removed before this returns, also on failure and on Ctrl-C. With `keep`
    the lab's own folder (broker data, raw logs) is copied beside the capture. `progress` is told sentences, from
    several threads.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise LabError(f"{out} is not empty. Name a new folder, or remove it.")
    chosen = experiment.variant(variant)
    play = _Run(
        experiment=experiment,
        variant=variant,
        client=clients.client(experiment.player(variant, client)),
        kafka=kafka,
        out=out,
        progress=progress,
    )
    with ExitStack() as stack:
        play.phase("start", f"Starting {_brokers(experiment, kafka)}")
        forwarder = None if chosen.path is None else stack.enter_context(Forwarder(path=chosen.path))
        fabric = None if chosen.site is None else stack.enter_context(Fabric(ways=chosen.site.ways))
        cluster = stack.enter_context(Cluster(_plan(play, forwarder, fabric)))
        stage, settings, notes = _set(play, stack, cluster, (forwarder, fabric))
        return _play(play, stage, settings, notes, keep=keep)


def _brokers(experiment: Experiment, kafka: str) -> str:
    count = experiment.scenario.brokers
    return f"a Kafka {kafka} broker" if count == 1 else f"{count} Kafka {kafka} brokers"


def _plan(play: _Run, forwarder: Forwarder | None, fabric: Fabric | None) -> Plan:
    experiment, variant, kafka = play.experiment, play.plays, play.kafka
    site = variant.site
    if fabric is None or site is None:
        places, tools = {}, HERE
    else:
        tools = fabric.launch("tools", *site.tools).place
        places = {node: fabric.launch(f"broker-{node}", *where).place for node, where in site.brokers.items()}
    return Plan(
        places=places,
        tools=tools,
        brokers=experiment.scenario.brokers,
        settings={**experiment.scenario.broker, **variant.broker},
        through={} if forwarder is None else {1: forwarder.port},
        heap_mb=variant.heap_mb,
        jvm=variant.jvm,
        watched=variant.watched,
        kafka=kafka,
    )


def _set(
    play: _Run, stack: ExitStack, cluster: Cluster, between: tuple[Forwarder | None, Fabric | None]
) -> tuple[Stage, dict[str, str], list[str]]:
    """Aim the forwarder, create the topic, start the workers. `between` is what stands between them and the brokers."""
    variant, client = play.plays, play.client
    forwarder, fabric = between
    if forwarder is not None:
        forwarder.target = (ADDRESS, cluster.brokers[0].ports["PROXY"])
    cluster.create_topic(
        play.experiment.topic,
        partitions=play.experiment.partitions,
        replicas=variant.replicas,
        assigned=play.experiment.assigned,
        config=variant.topic_config,
    )
    bootstrap = cluster.bootstrap if forwarder is None else f"{ADDRESS}:{forwarder.port}"
    settings = {**variant.settings, **variant.for_client.get(client.name, {})}
    _, lacking = client.translate(settings)
    play.phase("warm_up", f"Starting {len(variant.workers)} workers with {client.label}")
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadsman-workers-")))
    workers: dict[str, Worker] = {}
    hire = _hiring(
        play, stack, workers, settings={"bootstrap.servers": bootstrap, **settings}, folder=folder, at=fabric
    )
    for name in variant.workers:
        if fabric is not None and variant.site is not None:
            fabric.launch(name, *variant.site.workers[name])
        hire(name, {})
    notes = [f"{client.name} has no setting {name}; it was left out." for name in lacking]
    recorder = Recorder(play.out, working_folder=cluster.folder, began=play.began)
    stage = Stage(
        cluster=cluster,
        forwarder=forwarder,
        workers=workers,
        progress=play.progress,
        hire=hire,
        recorder=recorder,
        watch=Watch(cluster, topic=play.experiment.topic, recorder=recorder),
        fabric=fabric,
    )
    if variant.services:
        _serve(play, stage, stack, folder)
    return stage, settings, notes


def _hiring(
    play: _Run,
    stack: ExitStack,
    workers: dict[str, Worker],
    *,
    settings: Mapping[str, str],
    folder: Path,
    at: Fabric | None,
) -> Callable[[str, Mapping[str, str]], Worker]:
    """Return what starts a worker by name, with settings of its own beside those of all, and adds it to `workers`."""

    def hire(name: str, more: Mapping[str, str]) -> Worker:
        own, _ = play.client.translate({**settings, **more})
        with undisturbed():
            worker = clients.Worker.start(
                name,
                play.client,
                topic=play.experiment.topic,
                settings=own,
                folder=folder,
                place=HERE if at is None else at.instances[name].place,
                hold=play.plays.hold.get(name, "1"),
            )
            workers[name] = stack.enter_context(worker)
        return worker

    return hire


def _serve(play: _Run, stage: Stage, stack: ExitStack, folder: Path) -> None:
    """Start the source and the services, each in a process of its own, with groups that are coordinated alike."""
    home = Home(bootstrap=stage.cluster.bootstrap, topic=play.experiment.topic, folder=folder)
    prepared = place(stage.cluster, [wanted.name for wanted in play.plays.services])
    with undisturbed():
        stage.source = stack.enter_context(home.source({"enable.idempotence": "true"}))
    services: dict[str, Running] = {}
    all_wanted = tuple(_with(wanted, play.plays.settings) for wanted in play.plays.services)
    for together in [all_wanted] if play.plays.one_process else [(wanted,) for wanted in all_wanted]:
        version = together[0].client or play.client.version
        with undisturbed():
            for running in home.start(together, version=version, groups=prepared.groups):
                services[running.name] = stack.enter_context(running)
    stage.services, stage.placed = services, prepared


def _with(wanted: Service, settings: Mapping[str, str]) -> Service:
    return replace(wanted, settings={**settings, **wanted.settings})


def _play(play: _Run, stage: Stage, settings: Mapping[str, str], notes: list[str], *, keep: bool) -> Outcome:
    recorder = stage.recorder
    try:
        stage.look()
        stage.warm_up()
        play.phase("incident", play.plays.says)
        play.plays.play(stage)
        play.phase("record", "Recording the capture and reading the topic back")
        stage.dismiss()
        described = "".join(_seen(at, program) for at, program in stage.looks)
    finally:
        for _, program in stage.looks:
            program.kill()
    ledger = _judge(play, stage)
    harm = {**ledger.harm, **{kind.value: count for kind, count in _harm(play, stage).items()}}
    recorder.services(tuple(stage.services.values()))
    recorder.workers(tuple(stage.workers.values()), play.client)
    recorder.brokers(stage.cluster.nodes)
    recorder.text("kafka/topics.txt", described, source="topics", command="kafka-topics --describe")
    if play.plays.watched:
        recorder.collectors(stage.cluster.brokers)
        for broker in stage.cluster.brokers:
            broker.stop()
        recorder.snapshots(stage.cluster.brokers, play.experiment.topic)
    recorder.finish(
        ran=_call(play),
        versions={"kafka": play.kafka, play.client.library: play.client.version},
        stands_for={**play.experiment.scenario.stands_for, **play.plays.stands_for},
        settings=settings,
        notes=notes,
    )
    return replace(
        _outcome(play, ledger, harm, _keep(play, stage) if keep else None),
        services={name: dict(service.last) for name, service in stage.services.items()},
        marks=dict(stage.marks),
        offered=0 if stage.source is None else stage.source.said("acknowledged"),
    )


def _seen(at: datetime, describing: Program) -> str:
    """Return what kafka-topics printed, in the form that collectors give to a command's output."""
    text = describing.output.read()
    code = describing.ended(within=TOOL_WITHIN)
    when = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f"### leadsman {when} lab kafka/topics.txt $ kafka-topics --describe\n{text}\n### leadsman exit {code}\n"


def _call(play: _Run) -> str:
    """Return the command that does the same again."""
    near_miss = f"--near-miss {play.variant}" if play.variant in play.experiment.scenario.near_misses else ""
    words = {"broken": "", "cured": "--cured"}.get(play.variant, near_miss or f"--variant {play.variant}")
    call = f"leadsman reproduce {play.experiment.mode} --client {play.client.label} --kafka {play.kafka} {words}"
    return call.rstrip()


def _judge(play: _Run, stage: Stage) -> Ledger:
    told = [entry for worker in stage.workers.values() for entry in worker.told]
    return judge(told, stage.cluster.read_topic(play.experiment.topic))


def _harm(play: _Run, stage: Stage) -> Mapping[Harm, int]:
    """Return what harm there is beside that of the workers' records."""
    of_services = {} if stage.source is None else harm_of(stage.source, tuple(stage.services.values()))
    return {**of_services, **play.experiment.oracle(stage)}


def _outcome(play: _Run, ledger: Ledger, harm: Mapping[str, int], kept: Path | None) -> Outcome:
    return Outcome(
        mode=play.experiment.mode,
        variant=play.variant,
        client=play.client.label,
        kafka=play.kafka,
        capture=play.out,
        harm=harm,
        ledger=ledger,
        began=play.began,
        ended=datetime.now(UTC),
        lasted=play.lasted(),
        kept=kept,
    )


def _keep(play: _Run, stage: Stage) -> Path:
    kept = play.out.with_name(play.out.name + ".lab")
    shutil.copytree(stage.cluster.folder, kept, dirs_exist_ok=True)
    return kept

"""Runs one variant of a mode's experiment on a real cluster, records the capture and measures the harm."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab.brokers.cluster import TOOL_TIMEOUT
from leadsman.lab.oracles.ledger import Ledger, build_ledger
from leadsman.lab.run.environment import client_settings, start_environment
from leadsman.lab.run.variant_run import VariantRun, no_progress
from leadsman.lab.workload.clients import client as client_named
from leadsman.lab.workload.services import service_harm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from leadsman.lab.processes.program import Program
    from leadsman.lab.run.experiment import Experiment
    from leadsman.lab.run.run_context import RunContext
    from leadsman.lab.workload.clients import Client

NEWEST_KAFKA = "4.3.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """What came of one run.

    `harm` counts by kind of harm, of records, programs and brokers. `lab_folder` is a copy of the lab's own folder.
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
    phase_seconds: Mapping[str, float]
    lab_folder: Path | None = None
    services: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """The last report of each service."""
    marks: Mapping[str, datetime] = field(default_factory=dict)
    offered: int = 0
    """Records that services should have processed."""

    @property
    def is_harmed(self) -> bool:
        """Whether anything was harmed."""
        return any(self.harm.values())


def run(
    experiment: Experiment,
    *,
    out: Path,
    client: str | Client = "",
    variant: str = "broken",
    kafka: str = NEWEST_KAFKA,
    keep: bool = False,
    progress: Callable[[str], None] = no_progress,
) -> RunOutcome:
    """Run `variant` with `client`, write the capture to `out` (which must be empty), and measure harm by the ledger.

    `client` is one of `client_names`, or a client of the caller's own.

    Everything that was started is stopped and removed before this returns, also on failure and on Ctrl-C. With `keep`
    the lab's own folder (broker data, raw logs) is copied beside the capture. `progress` gets sentences, from several
    threads.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise LabError(f"{out} is not empty. Name a new folder, or remove it.")
    this_run = VariantRun(
        experiment=experiment,
        variant_name=variant,
        client=client_named(experiment.client_for(variant, client)) if isinstance(client, str) else client,
        kafka=kafka,
        out=out,
        progress=progress,
    )
    with ExitStack() as stack:
        this_run.begin_phase("start", f"Starting {_brokers(experiment, kafka)}")
        context = start_environment(this_run, stack)
        topics = _run_incident(this_run, context)
        harm, ledger = _measure_harm(this_run, context)
        _record(this_run, context, topics)
        return _outcome(this_run, context, (harm, ledger), lab_folder=_copy_lab_folder(context, out) if keep else None)


def _brokers(experiment: Experiment, kafka: str) -> str:
    count = experiment.scenario.broker_count
    return f"a Kafka {kafka} broker" if count == 1 else f"{count} Kafka {kafka} brokers"


def _run_incident(this_run: VariantRun, context: RunContext) -> str:
    """Warm up, run the variant, and stop its programs; return what kafka-topics described."""
    try:
        context.record_topics()
        context.warm_up()
        this_run.begin_phase("incident", this_run.variant.description)
        this_run.variant.run(context)
        this_run.begin_phase("record", "Recording the capture and reading the topic back")
        context.stop_programs()
        return "".join(_topics_section(at, program) for at, program in context.topic_descriptions)
    finally:
        for _, program in context.topic_descriptions:
            program.kill()


def _topics_section(at: datetime, describing: Program) -> str:
    """Return what kafka-topics printed, in the form that collectors give to a command's output."""
    text = describing.output.read()
    code = describing.wait_for_exit(timeout=TOOL_TIMEOUT)
    when = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f"### leadsman {when} lab kafka/topics.txt $ kafka-topics --describe\n{text}\n### leadsman exit {code}\n"


def _measure_harm(this_run: VariantRun, context: RunContext) -> tuple[dict[str, int], Ledger]:
    """Return all harm by kind, and the ledger of the workers' records."""
    reports = [report for worker in context.workers.values() for report in worker.delivery_reports]
    ledger = build_ledger(reports, context.cluster.read_topic(this_run.experiment.topic))
    services = {} if context.source is None else service_harm(context.source, tuple(context.services.values()))
    others = {**services, **this_run.experiment.oracle(context)}
    return {**ledger.harm, **{kind.value: count for kind, count in others.items()}}, ledger


def _record(this_run: VariantRun, context: RunContext, topics: str) -> None:
    """Write the capture."""
    recorder, variant, brokers = context.recorder, this_run.variant, context.cluster.brokers
    settings = client_settings(this_run)
    _, unsupported = this_run.client.translate(settings)
    recorder.services(tuple(context.services.values()))
    recorder.workers(tuple(context.workers.values()), this_run.client)
    recorder.brokers(context.cluster.nodes)
    recorder.text("kafka/topics.txt", topics, source="topics", command="kafka-topics --describe")
    if variant.brokers.is_monitored:
        recorder.gc_logs(brokers)
        for broker in brokers:
            broker.stop()
        recorder.snapshots(brokers, this_run.experiment.topic)
    recorder.finish(
        ran=this_run.command_line,
        versions={"kafka": this_run.kafka, this_run.client.library: this_run.client.version},
        stands_for={**this_run.experiment.scenario.stands_for, **variant.stands_for},
        settings=settings,
        notes=[f"{this_run.client.name} has no setting {name}; it was left out." for name in unsupported],
    )


def _outcome(
    this_run: VariantRun, context: RunContext, measured: tuple[Mapping[str, int], Ledger], *, lab_folder: Path | None
) -> RunOutcome:
    harm, ledger = measured
    return RunOutcome(
        mode=this_run.experiment.mode,
        variant=this_run.variant_name,
        client=this_run.client.label,
        kafka=this_run.kafka,
        capture=this_run.out,
        harm=harm,
        ledger=ledger,
        began=this_run.began,
        ended=datetime.now(UTC),
        phase_seconds=this_run.phase_seconds(),
        lab_folder=lab_folder,
        services={name: dict(service.last_report) for name, service in context.services.items()},
        marks=dict(context.marks),
        offered=0 if context.source is None else context.source.reported("acknowledged"),
    )


def _copy_lab_folder(context: RunContext, out: Path) -> Path:
    lab_folder = out.with_name(out.name + ".lab")
    shutil.copytree(context.cluster.folder, lab_folder, dirs_exist_ok=True)
    return lab_folder

"""Starts what a variant needs: network, brokers, topic, workers and services."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.interrupt import defer_interrupts
from leadsman.lab.brokers.cluster import ADDRESS, Cluster, ClusterPlan
from leadsman.lab.brokers.consumer_groups import place_groups
from leadsman.lab.network.fabric import Fabric
from leadsman.lab.network.forwarder import Forwarder
from leadsman.lab.processes.program import HOST_NETWORK
from leadsman.lab.run.broker_monitor import BrokerMonitor
from leadsman.lab.run.recorder import Recorder
from leadsman.lab.run.run_context import RunContext
from leadsman.lab.workload.services import ServiceHost
from leadsman.lab.workload.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import ExitStack

    from leadsman.lab.run.variant_run import VariantRun
    from leadsman.lab.workload.services import RunningService, Service


def start_environment(this_run: VariantRun, stack: ExitStack) -> RunContext:
    """Start everything; `stack` stops it again."""
    variant = this_run.variant
    path, layout = variant.topology.path, variant.topology.layout
    forwarder = None if path is None else stack.enter_context(Forwarder(path=path))
    fabric = None if layout is None else stack.enter_context(Fabric(behaviour=layout.behaviour))
    cluster = stack.enter_context(Cluster(_cluster_plan(this_run, forwarder, fabric)))
    if forwarder is not None:
        forwarder.target = (ADDRESS, cluster.brokers[0].ports["PROXY"])
    cluster.create_topic(
        this_run.experiment.topic,
        partitions=this_run.experiment.partitions,
        replicas=variant.topic.replicas,
        replica_assignment=this_run.experiment.replica_assignment,
        config=variant.topic.config,
    )
    workers = variant.workload.workers
    this_run.begin_phase("warm_up", f"Starting {len(workers)} workers with {this_run.client.label}")
    context = _context(this_run, stack, cluster, (forwarder, fabric))
    for name in workers:
        if fabric is not None and layout is not None:
            fabric.launch(name, *layout.workers[name])
        context.spawn(name, {})
    if variant.services.members:
        _start_services(this_run, context, stack)
    return context


def client_settings(this_run: VariantRun) -> dict[str, str]:
    """Return the settings of every worker, in the names of Kafka's Java documentation."""
    workload = this_run.variant.workload
    return {**workload.settings, **workload.settings_by_client.get(this_run.client.name, {})}


def _cluster_plan(this_run: VariantRun, forwarder: Forwarder | None, fabric: Fabric | None) -> ClusterPlan:
    scenario, variant = this_run.experiment.scenario, this_run.variant
    layout = variant.topology.layout
    if fabric is None or layout is None:
        namespaces, tools = {}, HOST_NETWORK
    else:
        tools = fabric.launch("tools", *layout.tools).namespace
        namespaces = {node: fabric.launch(f"broker-{node}", *at).namespace for node, at in layout.brokers.items()}
    return ClusterPlan(
        namespaces=namespaces,
        tools_namespace=tools,
        brokers=scenario.broker_count,
        settings={**scenario.broker_settings, **variant.brokers.settings},
        proxy_ports={} if forwarder is None else {1: forwarder.port},
        heap_mb=variant.brokers.heap_mb,
        jvm_options=variant.brokers.jvm_options,
        is_monitored=variant.brokers.is_monitored,
        kafka=this_run.kafka,
    )


def _context(
    this_run: VariantRun, stack: ExitStack, cluster: Cluster, network: tuple[Forwarder | None, Fabric | None]
) -> RunContext:
    forwarder, fabric = network
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadsman-workers-")))
    bootstrap = cluster.bootstrap if forwarder is None else f"{ADDRESS}:{forwarder.port}"
    workers: dict[str, Worker] = {}
    recorder = Recorder(this_run.out, working_folder=cluster.folder, began=this_run.began)
    return RunContext(
        cluster=cluster,
        forwarder=forwarder,
        workers=workers,
        folder=folder,
        progress=this_run.progress,
        spawn=_worker_starter(this_run, stack, workers, bootstrap=bootstrap, folder=folder, fabric=fabric),
        recorder=recorder,
        monitor=BrokerMonitor(cluster, topic=this_run.experiment.topic, recorder=recorder),
        fabric=fabric,
    )


def _worker_starter(
    this_run: VariantRun,
    stack: ExitStack,
    workers: dict[str, Worker],
    *,
    bootstrap: str,
    folder: Path,
    fabric: Fabric | None,
) -> Callable[[str, Mapping[str, str]], Worker]:
    """Return a function that starts a worker by name, with settings beside those of all, and adds it to `workers`."""
    common = {"bootstrap.servers": bootstrap, **client_settings(this_run)}

    def spawn(name: str, settings: Mapping[str, str]) -> Worker:
        translated, _ = this_run.client.translate({**common, **settings})
        with defer_interrupts():
            worker = Worker.start(
                name,
                this_run.client,
                topic=this_run.experiment.topic,
                settings=translated,
                folder=folder,
                namespace=HOST_NETWORK if fabric is None else fabric.instances[name].namespace,
                producers=this_run.variant.workload.producers.get(name, "1"),
                is_monitored=this_run.variant.workload.is_monitored,
            )
            workers[name] = stack.enter_context(worker)
        return worker

    return spawn


def _start_services(this_run: VariantRun, context: RunContext, stack: ExitStack) -> None:
    """Start the source and the services; one broker coordinates the groups of all services."""
    members, settings = this_run.variant.services.members, this_run.variant.workload.settings
    host = ServiceHost(bootstrap=context.cluster.bootstrap, topic=this_run.experiment.topic, folder=context.folder)
    placement = place_groups(context.cluster, [service.name for service in members])
    with defer_interrupts():
        context.source = stack.enter_context(host.start_source({"enable.idempotence": "true"}))
    services: dict[str, RunningService] = {}
    complete = tuple(_with_settings(service, settings) for service in members)
    processes = [complete] if this_run.variant.services.shares_process else [(service,) for service in complete]
    for process in processes:
        version = process[0].client or this_run.client.version
        with defer_interrupts():
            for running in host.start(process, version=version, groups=placement.groups):
                services[running.name] = stack.enter_context(running)
    context.services, context.group_placement = services, placement


def _with_settings(service: Service, settings: Mapping[str, str]) -> Service:
    return replace(service, settings={**settings, **service.settings})

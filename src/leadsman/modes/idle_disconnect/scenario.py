"""Reproduces `idle_disconnect` on a real broker, 200 times faster than in production: 3 s stand for 600 s.

Three workers are idle, sometimes for a moment, sometimes for longer than the broker keeps an idle connection; a fourth
worker is busy on the same path. A broker's close alone is harmless. So either the path loses the FIN, as a dropped hop
or a frozen worker does, or the client's I/O thread is busy when the FIN arrives.
"""

from __future__ import annotations

import signal
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leadsman.lab import faults
from leadsman.lab.network.forwarder import PathBehaviour
from leadsman.lab.run.experiment import BrokerOptions, Experiment, Scenario, Topology, Variant, Workload
from leadsman.modes.idle_disconnect import broken, healthy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leadsman.lab.run.run_context import RunContext
    from leadsman.lab.workload.worker import Worker

SCALE = 200
"""Broker: 3 s for 600 s. At 2 s the broker closes connections while a busy machine still warms up."""

LIMIT_MS = 600_000 // SCALE
IDLE = "connections.max.idle.ms"

# In seconds. Long gaps are the limit plus 2.4 s, because the broker checks only now and then and closes one
# connection at a time. Short gaps are well below the limit, so that a reader can see between which gaps it lies. No
# long gap comes right after another: a client that has just failed, and is frozen or a Java client 4.3.1, connects to
# the partition's leader again only with the next record, which then uses a fresh connection.
IDLE_GAPS = {
    "worker-1": (0.4, 5.4, 1.1, 5.7, 0.7, 5.5),
    "worker-2": (1.5, 5.8, 0.3, 5.5, 2.1, 5.6),
    "worker-3": (5.5, 0.9, 5.6, 1.8, 5.4, 0.5),
}
STALLED_LONGER = 0.5
"""Seconds for which the I/O thread is still blocked when the next record is queued: it then writes before it reads the
FIN."""

BUSY = "busy-1"
BUSY_EVERY = 0.2
WORKERS = (*IDLE_GAPS, BUSY)

RESTART_WORKERS = ("worker-1", "worker-2", BUSY)
RESTART_EVERY = 0.1
RESTART_AFTER = 2.5
"""Seconds of ordinary traffic before, between and after the restarts."""

QUICK_SESSION = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"}
"""A killed broker that restarts is unfenced when its old session is over: 9 s by default."""

FOR_CLIENT = {
    # aiokafka always retries, so its records are delayed instead of lost. One retry must be recognisable on a busy
    # machine too, hence more than the default of 100 ms.
    "aiokafka": {"retry.backoff.ms": "2500"},
}
CURED_FOR_CLIENT = {
    **FOR_CLIENT,
    # The idle check runs only when the sender's poll returns, and poll waits for up to request.timeout.ms.
    "java": {"request.timeout.ms": "500"},
}


def at_lab_scale(settings: Mapping[str, str]) -> dict[str, str]:
    """Return a program's settings with its idle limit scaled like the broker's."""
    scaled = dict(settings)
    if IDLE in scaled:
        scaled[IDLE] = str(int(scaled[IDLE]) // SCALE)
    return scaled


def run_idle_workers(
    context: RunContext, *, idle_gaps: Mapping[str, tuple[float, ...]] = IDLE_GAPS, freeze: bool = False
) -> None:
    """Let idle workers wait and send, side by side; the busy worker sends until the last of them has finished."""
    scripts = {
        name: partial(_send_after_gaps, context=context, gaps=gaps, freeze=freeze) for name, gaps in idle_gaps.items()
    }
    context.run_scripts(scripts, background={BUSY: partial(_busy, context=context, every=BUSY_EVERY)})


def _send_after_gaps(worker: Worker, *, context: RunContext, gaps: tuple[float, ...], freeze: bool) -> None:
    for seconds in gaps:
        if freeze and seconds > LIMIT_MS / 1000:
            with faults.frozen(worker.program):
                context.wait(seconds)
                worker.send()  # waits in its standard input: the worker resumes with an event, as in the cloud
            report = worker.await_report()
        else:
            context.wait(seconds)
            report = worker.deliver()
        ended = "delivered" if report.acknowledged else f"failed: {report.result}"
        context.progress(f"{worker.name} was idle for {seconds:g} s, then its record was {ended}")


def run_blocked_io_threads(context: RunContext, *, idle_gaps: Mapping[str, tuple[float, ...]] = IDLE_GAPS) -> None:
    """Do the same on a direct path; during each long gap a callback blocks the I/O thread of the worker's producer."""
    scripts = {name: partial(_send_after_blocked_gaps, context=context, gaps=gaps) for name, gaps in idle_gaps.items()}
    context.run_scripts(scripts, background={BUSY: partial(_busy, context=context, every=BUSY_EVERY)})


def _send_after_blocked_gaps(worker: Worker, *, context: RunContext, gaps: tuple[float, ...]) -> None:
    for seconds in gaps:
        long = seconds > LIMIT_MS / 1000
        worker.deliver(block=timedelta(seconds=seconds + STALLED_LONGER) if long else timedelta(0))
        context.wait(seconds)
        report = worker.deliver()
        ended = "delivered" if report.acknowledged else f"failed: {report.result}"
        context.progress(f"{worker.name} was idle for {seconds:g} s, then its record was {ended}")


def _busy(worker: Worker, *, context: RunContext, every: float) -> None:
    while context.is_running:
        context.wait(every)
        worker.deliver()


def restart_broker(context: RunContext) -> None:
    """Let all workers send all the time; restart the broker, first by a clean shutdown and then by a kill."""
    broker = context.cluster.brokers[0]

    def restart() -> None:
        for by in (signal.SIGTERM, signal.SIGKILL):
            context.wait(RESTART_AFTER)
            context.progress(f"Restarting the broker with {by.name}")
            with faults.down(broker, by=by):
                pass
        context.wait(RESTART_AFTER)

    busy = partial(_busy, context=context, every=RESTART_EVERY)
    context.run_scripts({}, background=dict.fromkeys(RESTART_WORKERS, busy), foreground=restart)


# The path sends no reset, so each long gap costs a whole request timeout: 5 s stand for the clients' 30 to 60 s.
SILENT_SETTINGS = {"request.timeout.ms": "5000"}
SILENT_FOR_CLIENT = {**FOR_CLIENT, "confluent-kafka": {"socket.timeout.ms": "5000"}}
SILENT_STANDS_FOR = {"request.timeout.ms": "5 s stands for 30 s (confluent-kafka: socket.timeout.ms, for 60 s)"}

IDLE_BROKER = {IDLE: str(LIMIT_MS)}
STANDS_FOR = {IDLE: f"{LIMIT_MS // 1000} s stands for {LIMIT_MS * SCALE // 1000} s"}


def _idle(
    description: str, *, cured: bool = False, path: PathBehaviour | None = PathBehaviour.HALF_OPEN, freeze: bool = False
) -> Variant:
    return Variant(
        description=description,
        run=partial(run_idle_workers, freeze=freeze),
        workload=Workload(
            workers=WORKERS,
            settings=at_lab_scale(healthy.SETTINGS if cured else broken.SETTINGS),
            settings_by_client=CURED_FOR_CLIENT if cured else FOR_CLIENT,
        ),
        brokers=BrokerOptions(settings=IDLE_BROKER),
        topology=Topology(path=path),
        stands_for=STANDS_FOR,
    )


RECORDINGS = {
    "broken-aiokafka": ("broken", "aiokafka"),
    "broken-confluent-kafka": ("broken", "confluent-kafka"),
    "broken-java": ("broken", "java"),
    "broken-java-2.7.2": ("broken", "java@2.7.2"),
    "broken-kafka-python": ("broken", "kafka-python"),
    "broken-frozen-java": ("broken_frozen", "java"),
    "broken-silent-confluent-kafka": ("broken_silent", "confluent-kafka"),
    "broken-stalled-java": ("broken_stalled", "java"),
    "healthy-confluent-kafka": ("cured", "confluent-kafka"),
    "healthy-java": ("cured", "java"),
    "near-miss-benign-close-aiokafka": ("benign_close", "aiokafka"),
    "near-miss-benign-close-confluent-kafka": ("benign_close", "confluent-kafka"),
    "near-miss-benign-close-java": ("benign_close", "java"),
    "near-miss-benign-close-kafka-python": ("benign_close", "kafka-python"),
    "near-miss-broker-restart-aiokafka": ("broker_restart", "aiokafka"),
    "near-miss-broker-restart-confluent-kafka": ("broker_restart", "confluent-kafka"),
    "near-miss-broker-restart-java": ("broker_restart", "java"),
    "near-miss-broker-restart-java-2.7.2": ("broker_restart", "java@2.7.2"),
    "near-miss-broker-restart-kafka-python": ("broker_restart", "kafka-python"),
}

EXPERIMENT = Experiment(
    mode="idle_disconnect",
    scenario=Scenario(near_misses=("broker_restart", "benign_close"), stands_for=STANDS_FOR),
    variants={
        "broken": _idle("Three workers are idle behind a path that loses the FIN; one worker stays busy"),
        "broken_frozen": _idle("Three workers are frozen while idle, behind a path that loses the FIN", freeze=True),
        "broken_silent": Variant(
            description="Three workers are idle behind a path that drops packets without a reset",
            run=run_idle_workers,
            workload=Workload(
                workers=WORKERS,
                settings={**broken.SETTINGS, **SILENT_SETTINGS},
                settings_by_client=SILENT_FOR_CLIENT,
            ),
            brokers=BrokerOptions(settings=IDLE_BROKER),
            topology=Topology(path=PathBehaviour.SILENT),
            stands_for={**STANDS_FOR, **SILENT_STANDS_FOR},
        ),
        "broken_stalled": Variant(
            description="Callbacks block the I/O threads of three idle workers, on a direct path",
            run=run_blocked_io_threads,
            workload=Workload(workers=WORKERS, settings=at_lab_scale(broken.SETTINGS)),
            brokers=BrokerOptions(settings=IDLE_BROKER),
            stands_for=STANDS_FOR,
            client="java",
        ),
        "cured": _idle("The same, but the clients close idle connections first", cured=True),
        "benign_close": _idle("Three workers are idle on a direct path: clients see every close at once", path=None),
        "broker_restart": Variant(
            description="Three busy workers, and a broker that is restarted twice",
            run=restart_broker,
            workload=Workload(workers=RESTART_WORKERS, settings=broken.SETTINGS, settings_by_client=FOR_CLIENT),
            brokers=BrokerOptions(settings=QUICK_SESSION),
        ),
    },
    recordings=RECORDINGS,
)

"""Makes `idle_disconnect` happen on a real broker, 200 times faster than in life: 3 s stand for 600 s.

Three workers are quiet, now for a moment, now for longer than the broker keeps an idle connection; a fourth is busy on
the same path. A broker's close alone harms nobody: the path loses the news of it, as a cut hop or a frozen worker does,
or the client's I/O thread is busy with something else when it comes.
"""

from __future__ import annotations

import signal
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leadsman.lab import faults
from leadsman.lab.experiment import Experiment, Scenario, Stage, Variant
from leadsman.lab.network import Path
from leadsman.modes.idle_disconnect import broken, healthy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leadsman.lab.clients import Worker

SCALE = 200
"""Broker: 3 s for 600 s. At 2 s it strikes while a busy machine still warms up."""

LIMIT_MS = 600_000 // SCALE
IDLE = "connections.max.idle.ms"

# In seconds. Long gaps are the limit and 2.4 s more, because the broker looks every now and then and closes one
# connection at a time; short ones are well below the limit, so that a reader can see between which gaps it lies. No
# long one comes right after another: a client that has just failed, and is frozen or a Java client 4.3.1, connects to
# the partition's leader again only with the next record, and that then finds a fresh connection.
QUIET = {
    "worker-1": (0.4, 5.4, 1.1, 5.7, 0.7, 5.5),
    "worker-2": (1.5, 5.8, 0.3, 5.5, 2.1, 5.6),
    "worker-3": (5.5, 0.9, 5.6, 1.8, 5.4, 0.5),
}
STALLED_LONGER = 0.5
"""Seconds that the I/O thread is still kept when the next record is queued: it then writes before it reads the FIN."""

BUSY = "busy-1"
BUSY_EVERY = 0.2
WORKERS = (*QUIET, BUSY)

RESTART_WORKERS = ("worker-1", "worker-2", BUSY)
RESTART_EVERY = 0.1
RESTART_AFTER = 2.5
"""Seconds of ordinary traffic before, between and after the restarts."""

QUICK_SESSION = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"}
"""A killed broker that comes back is let in when its old session is over: 9 s by default."""

FOR_CLIENT = {
    # It cannot be told not to retry, and then it delays instead of losing. One retry must be seen for what it is on a
    # busy machine too, hence more than the default of 100 ms.
    "aiokafka": {"retry.backoff.ms": "2500"},
}
CURED_FOR_CLIENT = {
    **FOR_CLIENT,
    # The idle check runs only when the sender's poll returns, and that waits for as long as a request may take.
    "java": {"request.timeout.ms": "500"},
}


def at_lab_scale(settings: Mapping[str, str]) -> dict[str, str]:
    """Return a program's settings with its idle limit as much shorter as the broker's."""
    scaled = dict(settings)
    if IDLE in scaled:
        scaled[IDLE] = str(int(scaled[IDLE]) // SCALE)
    return scaled


def play_idle(stage: Stage, *, quiet: Mapping[str, tuple[float, ...]] = QUIET, freeze: bool = False) -> None:
    """Quiet workers wait and send, side by side; the busy one sends until the last of them has finished."""
    scripts = {name: partial(_quiet, stage=stage, gaps=gaps, freeze=freeze) for name, gaps in quiet.items()}
    stage.together(scripts, alongside={BUSY: partial(_busy, stage=stage, every=BUSY_EVERY)})


def _quiet(worker: Worker, *, stage: Stage, gaps: tuple[float, ...], freeze: bool) -> None:
    for seconds in gaps:
        if freeze and seconds > LIMIT_MS / 1000:
            with faults.frozen(worker.program):
                stage.quiet(seconds)
                worker.send()  # waits in its standard input: it runs again with an event to handle, as in the cloud
            told = worker.answer()
        else:
            stage.quiet(seconds)
            told = worker.deliver()
        ended = "delivered" if told.acknowledged else f"failed: {told.result}"
        stage.progress(f"{worker.name} was quiet for {seconds:g} s, then its record was {ended}")


def play_stalled(stage: Stage, *, quiet: Mapping[str, tuple[float, ...]] = QUIET) -> None:
    """Do the same on a direct path; whenever a worker is quiet for long, a callback keeps its producer's I/O thread."""
    scripts = {name: partial(_stalled, stage=stage, gaps=gaps) for name, gaps in quiet.items()}
    stage.together(scripts, alongside={BUSY: partial(_busy, stage=stage, every=BUSY_EVERY)})


def _stalled(worker: Worker, *, stage: Stage, gaps: tuple[float, ...]) -> None:
    for seconds in gaps:
        long = seconds > LIMIT_MS / 1000
        worker.deliver(block=timedelta(seconds=seconds + STALLED_LONGER) if long else timedelta(0))
        stage.quiet(seconds)
        told = worker.deliver()
        ended = "delivered" if told.acknowledged else f"failed: {told.result}"
        stage.progress(f"{worker.name} was quiet for {seconds:g} s, then its record was {ended}")


def _busy(worker: Worker, *, stage: Stage, every: float) -> None:
    while stage.going:
        stage.quiet(every)
        worker.deliver()


def play_restart(stage: Stage) -> None:
    """All workers send all the time; the broker is restarted, first in order and then by a kill."""
    broker = stage.cluster.brokers[0]

    def restart() -> None:
        for by in (signal.SIGTERM, signal.SIGKILL):
            stage.quiet(RESTART_AFTER)
            stage.progress(f"Restarting the broker with {by.name}")
            with faults.down(broker, by=by):
                pass
        stage.quiet(RESTART_AFTER)

    busy = partial(_busy, stage=stage, every=RESTART_EVERY)
    stage.together({}, alongside=dict.fromkeys(RESTART_WORKERS, busy), meanwhile=restart)


# Nothing answers at all, so that each long gap costs a whole request timeout: 5 s stand for the clients' 30 to 60 s.
SILENT_SETTINGS = {"request.timeout.ms": "5000"}
SILENT_FOR_CLIENT = {**FOR_CLIENT, "confluent-kafka": {"socket.timeout.ms": "5000"}}
SILENT_STANDS_FOR = {"request.timeout.ms": "5 s stands for 30 s (confluent-kafka: socket.timeout.ms, for 60 s)"}

IDLE_BROKER = {IDLE: str(LIMIT_MS)}
STANDS_FOR = {IDLE: f"{LIMIT_MS // 1000} s stands for {LIMIT_MS * SCALE // 1000} s"}


def _idle(says: str, *, cured: bool = False, path: Path | None = Path.HALF_OPEN, freeze: bool = False) -> Variant:
    return Variant(
        says=says,
        play=partial(play_idle, freeze=freeze),
        workers=WORKERS,
        settings=at_lab_scale(healthy.SETTINGS if cured else broken.SETTINGS),
        for_client=CURED_FOR_CLIENT if cured else FOR_CLIENT,
        broker=IDLE_BROKER,
        path=path,
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
        "broken": _idle("Three workers go quiet behind a path that loses closes; one stays busy"),
        "broken_frozen": _idle("Three workers are frozen while quiet, behind a path that loses closes", freeze=True),
        "broken_silent": Variant(
            says="Three workers go quiet behind a path that drops without a word",
            play=play_idle,
            workers=WORKERS,
            settings={**broken.SETTINGS, **SILENT_SETTINGS},
            for_client=SILENT_FOR_CLIENT,
            broker=IDLE_BROKER,
            path=Path.SILENT,
            stands_for={**STANDS_FOR, **SILENT_STANDS_FOR},
        ),
        "broken_stalled": Variant(
            says="Callbacks keep the I/O threads of three workers while they are quiet, on a direct path",
            play=play_stalled,
            workers=WORKERS,
            settings=at_lab_scale(broken.SETTINGS),
            broker=IDLE_BROKER,
            stands_for=STANDS_FOR,
            only="java",
        ),
        "cured": _idle("The same, but the clients close idle connections first", cured=True),
        "benign_close": _idle("Three workers go quiet on a direct path: every close is seen at once", path=None),
        "broker_restart": Variant(
            says="Three busy workers, and a broker that is restarted twice",
            play=play_restart,
            workers=RESTART_WORKERS,
            settings=broken.SETTINGS,
            for_client=FOR_CLIENT,
            broker=QUICK_SESSION,
        ),
    },
    recordings=RECORDINGS,
)

"""Runs a handler over a topic's records, and keeps it running without a human."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leadsman_clients.clock import SystemClock
from leadsman_clients.consumer._processing import RecordProcessor
from leadsman_clients.consumer._supervised_consumer import SupervisedConsumer
from leadsman_clients.consumer.error_actions import Action, ErrorAction
from leadsman_clients.consumer.health import ConsumerHealth, RunnerState
from leadsman_clients.consumer.policy import ConsumerPolicy, RestartBudget
from leadsman_clients.errors import ClientsError, RunnerFailed
from leadsman_clients.instance._process_hooks import NEVER_CLOSED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leadsman_clients.clock import Clock
    from leadsman_clients.consumer._processing import Handler
    from leadsman_clients.producer.provider import KafkaProducerProvider
    from leadsman_clients.producer.settings import SettingsSource

LOG = logging.getLogger("leadsman_clients")

CHECK_SECONDS = 0.2
"""How often the supervisor checks its consumer: short against every timeout of the policy."""

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class ConsumerRunner:
    """Supervises one consumer of `topics`: polls, calls the handler, commits, restarts.

    `handler(message)` returns None when a record is processed, or Skip, Retry or DeadLetter; it may be a coroutine
    function. An exception is a Retry; after `policy.max_attempts` the record is a dead letter. Dead letters go to the
    topic `dead_letters`, through `producers`, and are acknowledged there before the consumer continues; without them
    the runner fails instead.

    At least once: an offset is committed when all records below it are processed. A commit never blocks and never ends
    the consumer. A consumer without progress for `policy.stall_timeout` is replaced, at most `policy.max_restarts`
    times; the action for each error is in `consumer.error_actions.ERROR_ACTIONS`.
    """

    def __init__(
        self,
        config: SettingsSource,
        topics: Sequence[str],
        handler: Handler,
        *,
        policy: ConsumerPolicy | None = None,
        producers: KafkaProducerProvider | None = None,
        dead_letters: str = "",
        name: str = "consumer",
        clock: Clock | None = None,
    ) -> None:
        if bool(dead_letters) != (producers is not None):
            raise ClientsError("Dead letters need both a topic (dead_letters=) and producers (producers=).")
        if isinstance(topics, str):
            raise ClientsError(f"topics is {topics!r}, one text; it must be a list: [{topics!r}].")
        self.name = name
        self.policy = policy or ConsumerPolicy()
        self._config = config
        self._topics = tuple(topics)
        self._clock = clock or SystemClock()
        self._budget = RestartBudget(self.policy.max_restarts, self.policy.restart_window, self.policy.restart_backoff)
        self._counts: Counter[str] = Counter()
        self._processor = RecordProcessor(
            handler,
            policy=self.policy,
            clock=self._clock,
            counts=self._counts,
            name=name,
            producers=producers,
            dead_letters=dead_letters,
        )
        self._stop = threading.Event()
        self._was_signalled = False
        self._consumer: SupervisedConsumer | None = None
        self._state = RunnerState.STARTING
        self._reason = ""

    def run(self) -> None:
        """Consume until stop() or, in the main thread, SIGTERM or SIGINT. RunnerFailed if it cannot go on."""
        with self._signals():
            self._supervise()

    async def run_async(self) -> None:
        """Consume beside other coroutines. A handler that is a coroutine function runs in this event loop."""
        self._processor.loop = asyncio.get_running_loop()
        with _loop_signals(self._processor.loop, self.stop):
            running = asyncio.ensure_future(asyncio.to_thread(self._supervise))
            try:
                await asyncio.shield(running)
            except asyncio.CancelledError:
                self.stop()
                await running
                raise

    def stop(self) -> None:
        """Request an orderly end: finish the record in flight, commit, leave the group."""
        self._stop.set()

    @property
    def health(self) -> ConsumerHealth:
        """State, counts and the last reason of a restart."""
        consumer = self._consumer
        counts = self._counts + Counter(consumer.counts() if consumer else {})
        stall = consumer.stall_reason() if consumer else ""
        alive = self._state is not RunnerState.FAILED and not stall
        return ConsumerHealth(
            state=self._state,
            ready=alive and self._state is RunnerState.RUNNING and consumer is not None and consumer.has_joined,
            alive=alive,
            reason=stall or self._reason,
            processed=counts["processed"],
            dead_lettered=counts["dead_lettered"],
            skipped=counts["skipped"],
            retried=counts["retried"],
            restarts=counts["restarts"],
            commits=counts["commits"],
            commit_failures=counts["commit_failures"],
            partitions=consumer.partitions if consumer else 0,
            in_flight=consumer.in_flight if consumer else 0,
            lag=consumer.lag if consumer else 0,
            idle_seconds=consumer.idle_seconds() if consumer else 0.0,
        )

    def _supervise(self) -> None:
        try:
            while not self._is_stopping:
                self._run_once()
        except BaseException as error:
            self._state, self._reason = RunnerState.FAILED, self._reason or repr(error)
            raise
        self._state = RunnerState.STOPPED

    @property
    def _is_stopping(self) -> bool:
        return self._stop.is_set() or self._was_signalled

    def _run_once(self) -> None:
        """Run one consumer to its end, and decide whether another follows."""
        consumer = self._start_consumer()
        failure = self._watch(consumer) if consumer else ErrorAction(Action.RESTART, self._reason)
        self._state = RunnerState.STOPPING if failure is None else RunnerState.RESTARTING
        if consumer:
            self._close(consumer)
        if failure is not None:
            self._restart_or_raise(failure)

    def _start_consumer(self) -> SupervisedConsumer | None:
        """Return a running consumer; None: none can be made now. Where the first cannot, none ever can: raises."""
        try:
            settings = self._config() if callable(self._config) else self._config
            consumer = SupervisedConsumer(
                settings, self._topics, process=self._processor.process, policy=self.policy, clock=self._clock
            )
        except Exception as error:
            if self._state is RunnerState.STARTING:
                raise
            LOG.exception("%s: no consumer could be made", self.name)
            self._reason = f"No consumer could be made: {error!r}"
            return None
        self._consumer, self._state = consumer, RunnerState.RUNNING
        consumer.start()
        return consumer

    def _close(self, consumer: SupervisedConsumer) -> None:
        if not consumer.close():
            LOG.warning("%s: its client did not close in time and is left open.", self.name)
            NEVER_CLOSED.append(consumer)  # the garbage collector would wait for it
        self._consumer = None
        self._counts.update(consumer.counts())

    def _watch(self, consumer: SupervisedConsumer) -> ErrorAction | None:
        """Wait for the end of a consumer; None: a stop was requested."""
        while not self._clock.wait(self._stop, CHECK_SECONDS) and not self._was_signalled:
            if consumer.failure is not None:
                return consumer.failure
            stall = consumer.stall_reason()
            if stall:
                return ErrorAction(Action.RESTART, stall)
        return None

    def _restart_or_raise(self, failure: ErrorAction) -> None:
        """Wait before the next consumer, or raise RunnerFailed."""
        self._reason = failure.reason
        pause = None if failure.action is Action.STOP else self._budget.spend(self._clock.read()[0])
        if pause is None:
            spent = "" if failure.action is Action.STOP else f"It was restarted {self.policy.max_restarts} times. "
            raise RunnerFailed(f"{self.name} cannot go on. {spent}{failure.reason}")
        self._counts["restarts"] += 1
        LOG.warning("%s: a new consumer in %.1f s. %s", self.name, pause, failure.reason)
        began = self._clock.read()[0]
        while not self._is_stopping and self._clock.read()[0] - began < pause:
            self._clock.wait(self._stop, min(CHECK_SECONDS, pause))

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Take SIGTERM and SIGINT as a stop while it runs, where the main thread runs it.

        The handler sets a flag and no event: the thread that a signal interrupts may hold the event's lock.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, *_: object) -> None:
        self._was_signalled = True


@contextmanager
def _loop_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    """Take SIGTERM as a stop, where the event loop runs in the main thread. asyncio.run() itself handles SIGINT."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop.add_signal_handler(signal.SIGTERM, stop)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)

"""Runs a handler over a topic's records, and keeps it running without a human."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leadsman.clients.clock import SystemClock
from leadsman.clients.consumer.budget import Budget
from leadsman.clients.consumer.handling import Handling
from leadsman.clients.consumer.health import Health, State
from leadsman.clients.consumer.session import Session
from leadsman.clients.consumer.treatment import Action, Treatment
from leadsman.clients.consumer.verdicts import Rules
from leadsman.clients.errors import ClientsError, RunnerFailed
from leadsman.clients.processwide import KEPT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leadsman.clients.clock import Clock
    from leadsman.clients.consumer.handling import Handler
    from leadsman.clients.producers import KafkaProducers
    from leadsman.clients.settings import SettingsSource

LOG = logging.getLogger("leadsman.clients")

LOOK_SECONDS = 0.2
"""How often the supervisor looks: short against every limit of the rules."""

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class ConsumerRunner:
    """Supervises one consumer of `topics`: polls, handles, commits, heals.

    `handler(message)` returns None when a record is processed, or Skip, Retry or DeadLetter; it may be a coroutine
    function. An exception is a Retry; after `rules.attempts` it is a dead letter. Dead letters go to `dead_letters`,
    a topic, through `producers`, and are acknowledged there before the consumer goes on; without them the runner
    fails instead.

    At least once: an offset is committed when all below it is done with. A commit never blocks and never ends the
    consumer. A consumer without progress for `rules.stall_within` is replaced, within the budget of restarts; what is
    done about each error stands in `consumer.treatment.TREATMENTS`.
    """

    def __init__(
        self,
        config: SettingsSource,
        topics: Sequence[str],
        handler: Handler,
        *,
        rules: Rules | None = None,
        producers: KafkaProducers | None = None,
        dead_letters: str = "",
        name: str = "consumer",
        clock: Clock | None = None,
    ) -> None:
        if bool(dead_letters) != (producers is not None):
            raise ClientsError("Dead letters need both a topic (dead_letters=) and producers (producers=).")
        if isinstance(topics, str):
            raise ClientsError(f"topics is {topics!r}, one text; it must be a list: [{topics!r}].")
        self.name = name
        self.rules = rules or Rules()
        self._config = config
        self._topics = tuple(topics)
        self._clock = clock or SystemClock()
        self._budget = Budget(self.rules.restarts, self.rules.window, self.rules.restart)
        self._counts: Counter[str] = Counter()
        self._handling = Handling(
            handler,
            rules=self.rules,
            clock=self._clock,
            counts=self._counts,
            name=name,
            producers=producers,
            dead_letters=dead_letters,
        )
        self._stop = threading.Event()
        self._signalled = False
        self._session: Session | None = None
        self._state = State.STARTING
        self._because = ""

    def run(self) -> None:
        """Consume until stop() or, in the main thread, SIGTERM or SIGINT. RunnerFailed if it cannot go on."""
        with self._signals():
            self._supervise()

    async def run_async(self) -> None:
        """Do the same beside other coroutines. A handler that is a coroutine function runs in this event loop."""
        self._handling.loop = asyncio.get_running_loop()
        with _loop_signals(self._handling.loop, self.stop):
            running = asyncio.ensure_future(asyncio.to_thread(self._supervise))
            try:
                await asyncio.shield(running)
            except asyncio.CancelledError:
                self.stop()
                await running
                raise

    def stop(self) -> None:
        """Ask it to end in order: finish the record under way, commit what is done, leave the group."""
        self._stop.set()

    @property
    def health(self) -> Health:
        """How it is doing."""
        session, counts = self._session, self._counts + Counter(self._session.counts() if self._session else {})
        stall = session.stall() if session else ""
        alive = self._state is not State.FAILED and not stall
        return Health(
            state=self._state,
            ready=alive and self._state is State.RUNNING and session is not None and session.joined,
            alive=alive,
            because=stall or self._because,
            processed=counts["processed"],
            dead_lettered=counts["dead_lettered"],
            skipped=counts["skipped"],
            retried=counts["retried"],
            restarts=counts["restarts"],
            commits=counts["commits"],
            commit_failures=counts["commit_failures"],
            partitions=session.partitions if session else 0,
            under_way=session.under_way if session else 0,
            lag=session.lag if session else 0,
            idle_seconds=session.idle_seconds() if session else 0.0,
        )

    def _supervise(self) -> None:
        try:
            while not self._asked_to_stop:
                self._run_once()
        except BaseException as error:
            self._state, self._because = State.FAILED, self._because or repr(error)
            raise
        self._state = State.STOPPED

    @property
    def _asked_to_stop(self) -> bool:
        return self._stop.is_set() or self._signalled

    def _run_once(self) -> None:
        """Run one consumer to its end, and decide what comes after it."""
        session = self._started()
        ended = self._watch(session) if session else Treatment(Action.RESTART, self._because)
        self._state = State.STOPPING if ended is None else State.RESTARTING
        if session:
            self._close(session)
        if ended is not None:
            self._decide(ended)

    def _started(self) -> Session | None:
        """Return a running consumer; None: none can be made now. Where the first cannot, none ever will: raises."""
        try:
            settings = self._config() if callable(self._config) else self._config
            session = Session(
                settings, self._topics, process=self._handling.process, rules=self.rules, clock=self._clock
            )
        except Exception as error:
            if self._state is State.STARTING:
                raise
            LOG.exception("%s: no consumer could be made", self.name)
            self._because = f"No consumer could be made: {error!r}"
            return None
        self._session, self._state = session, State.RUNNING
        session.start()
        return session

    def _close(self, session: Session) -> None:
        if not session.close():
            LOG.warning("%s: its client did not close in time and is left behind.", self.name)
            KEPT.append(session)  # the garbage collector would wait for it
        self._session = None
        self._counts.update(session.counts())

    def _watch(self, session: Session) -> Treatment | None:
        """Wait for the end of a consumer; None: it was asked for."""
        while not self._clock.wait(self._stop, LOOK_SECONDS) and not self._signalled:
            if session.ended is not None:
                return session.ended
            stall = session.stall()
            if stall:
                return Treatment(Action.RESTART, stall)
        return None

    def _decide(self, ended: Treatment) -> None:
        """Wait for the next consumer, or raise."""
        self._because = ended.because
        pause = None if ended.action is Action.STOP else self._budget.spend(self._clock.read()[0])
        if pause is None:
            spent = "" if ended.action is Action.STOP else f"It was restarted {self.rules.restarts} times. "
            raise RunnerFailed(f"{self.name} cannot go on. {spent}{ended.because}")
        self._counts["restarts"] += 1
        LOG.warning("%s: a new consumer in %.1f s. %s", self.name, pause, ended.because)
        began = self._clock.read()[0]
        while not self._asked_to_stop and self._clock.read()[0] - began < pause:
            self._clock.wait(self._stop, min(LOOK_SECONDS, pause))

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Take SIGTERM and SIGINT as a stop while it runs, where the main thread runs it.

        A flag and no event: the thread that a signal interrupts may hold the event's lock.
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
        self._signalled = True


@contextmanager
def _loop_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    """Take SIGTERM as a stop, where the event loop runs in the main thread. asyncio.run() itself sees to SIGINT."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop.add_signal_handler(signal.SIGTERM, stop)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)

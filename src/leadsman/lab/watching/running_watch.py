"""A running `leadsman watch`, and when a finding was seen: on its output, on its page, and in Alertmanager."""

from __future__ import annotations

import json
import re
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.request import urlopen

from leadsman.errors import LabError
from leadsman.interrupt import defer_interrupts
from leadsman.lab.alerts.prometheus import alertmanager_program
from leadsman.lab.processes.ports import ADDRESS, free_ports
from leadsman.lab.processes.program import SOURCES, Program
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

READY_TIMEOUT = timedelta(minutes=5)
"""A first round takes half a minute on an idle machine."""

RESPONSE_TIMEOUT_SECONDS = 10
POLL_SECONDS = 0.2

ROUNDS = re.compile(r"^leadsman_watch_round_seconds_count (\d+)", re.MULTILINE)
OPEN, RESOLVED, NEXT_PART = 'id="open-heading"', 'id="resolved-heading"', "<h2 "
"""Where parts of the page begin. A finding can also stand in another part, as one that is not decided."""

ALERT_ROUTES = {"route": {"receiver": "nobody"}, "receivers": [{"name": "nobody"}]}


@dataclass(slots=True)
class Seen:
    """When a finding of one mode was seen first, by place and state, such as `page opened`; and its titles."""

    times: dict[str, datetime] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)

    def note(self, what: str, at: datetime, title: str = "") -> None:
        """Note that it was seen; only the first time counts."""
        self.times.setdefault(what, at)
        self.titles.setdefault(what, title)


@dataclass(slots=True)
class RunningWatch:
    """A watch of one capture: its process, its page and its Alertmanager."""

    capture: str
    mode: str
    page: str
    alertmanager: str
    program: Program
    seen: Seen = field(default_factory=Seen)
    over: threading.Event = field(default_factory=threading.Event)

    def read_lines(self) -> None:
        """Note the changes of findings on its output, until it ends."""
        for line in self.program.output:
            self.note_line(line, datetime.now(UTC))

    def note_line(self, line: str, at: datetime) -> None:
        """Note a change of the mode's finding in this capture, `12:15:08 OPENED   mode: title [capture ...]`."""
        match = re.match(rf"\S+ (\w+) +{self.mode}: (.*) \[{re.escape(self.capture)}[\], ]", line)
        if match:
            self.seen.note(f"output {match[1].lower()}", at, match[2])

    def look(self) -> None:
        """Look at page and Alertmanager again and again, until it is over."""
        while not self.over.wait(POLL_SECONDS):
            with suppress(OSError, HTTPException, ValueError):  # a look that fails is made again
                self.look_at_page(_get(f"{self.page}content"), datetime.now(UTC))
                self.look_at_alerts(_get(f"{self.alertmanager}/api/v2/alerts"), datetime.now(UTC))

    def look_at_page(self, html: str, at: datetime) -> None:
        """Note the finding where it stands below Open, or below Resolved."""
        named = f"<code>{self.mode}</code> in {self.capture}"
        if named in html.partition(OPEN)[2].partition(NEXT_PART)[0]:
            self.seen.note("page opened", at)
        if named in html.partition(RESOLVED)[2].partition(NEXT_PART)[0]:
            self.seen.note("page resolved", at)

    def look_at_alerts(self, text: str, at: datetime) -> None:
        """Note the alert where it is active, and that it is active no more."""
        if any(each["labels"].get("mode") == self.mode for each in json.loads(text)):
            self.seen.note("alertmanager opened", at)
        elif "alertmanager opened" in self.seen.times:
            self.seen.note("alertmanager resolved", at)

    def is_ready(self) -> bool:
        """Whether the first round of the detectors is over."""
        if not self.program.is_running:
            raise LabError("The watch has ended.")
        with suppress(OSError, HTTPException):
            match = ROUNDS.search(_get(f"{self.page}metrics"))
            return match is not None and int(match[1]) > 0
        return False


@contextmanager
def watching(
    folder: Path, *, capture: Path, mode: str, others: Sequence[Path], idle: timedelta
) -> Iterator[RunningWatch]:
    """Start Alertmanager and a watch of the capture and of `others`; it runs inside, and is ready."""
    ports = free_ports(2)
    alertmanager, page = (f"{ADDRESS}:{port}" for port in ports)
    options = (
        *("--to", str(folder / "state"), "--serve", page, "--notify", f"alertmanager=http://{alertmanager}"),
        *("--resolved-after", f"{idle.total_seconds():g}s"),
    )
    command = [sys.executable, "-m", "leadsman", "watch", str(capture), *map(str, others), *options]
    with alertmanager_program(folder, alertmanager, ALERT_ROUTES), _started(folder, command) as program:
        watch = RunningWatch(str(capture), mode, f"http://{page}/", f"http://{alertmanager}", program)
        threads = [threading.Thread(target=each, daemon=True) for each in (watch.read_lines, watch.look)]
        for each in threads:
            each.start()
        wait_for(partial(_is_ready, watch, folder), timeout=READY_TIMEOUT, what="the watch to be ready", error=LabError)
        try:
            yield watch
        finally:
            watch.over.set()
            threads[1].join()


def _started(folder: Path, command: Sequence[str]) -> Program:
    with defer_interrupts():
        environment = {"PYTHONPATH": str(SOURCES)}
        return Program.start("watch", command, folder=folder, errors=folder / "watch.err", environment=environment)


def _is_ready(watch: RunningWatch, folder: Path) -> bool:
    try:
        return watch.is_ready()
    except LabError as error:
        raise LabError(f"{error} {(folder / 'watch.err').read_text()[-1500:]}") from error


def _get(url: str) -> str:
    with urlopen(url, timeout=RESPONSE_TIMEOUT_SECONDS) as response:  # noqa: S310 - addresses of our own
        return str(response.read().decode())

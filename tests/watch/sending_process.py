"""A process that sees findings begin and end, and sends messages: `sending_process.py FILE KIND=URL`.

It prints `begun` when its rounds begin, and `done`.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from leadsman.model import Diagnosis, Finding, Verdict
from leadsman.notify.kind import destination_of
from leadsman.watch.finding_changes import FindingHistory, LifeTimes, reported
from leadsman.watch.sending import outbox
from leadsman.watch.sending.messages import message_json, message_of_change
from leadsman.watch.sending.outbox import Outbox
from leadsman.watch.sending.sender import destination_key, senders
from leadsman.watch.state.findings_file import FindingsFile

MODE = "idle_disconnect"
BEGIN = datetime(2026, 2, 16, 12, tzinfo=UTC)
FINDINGS = 40
STEPS = 2 * FINDINGS


def diagnosis(number: int, step: int) -> Diagnosis:
    """Finding `number` does harm in its own step alone."""
    harm = BEGIN + timedelta(minutes=number)
    finding = Finding(mode=MODE, verdict=Verdict.PRESENT, title=f"finding {number}", summary="", since=harm, until=harm)
    return Diagnosis(
        path=f"logs-{number}",
        verdicts={MODE: Verdict.PRESENT},
        findings=(finding,),
        until=BEGIN + timedelta(minutes=step),
    )


def main(path: Path, text: str) -> None:
    destination = destination_of(text)
    file = FindingsFile(path)
    history = FindingHistory(LifeTimes(), file.known())
    step = int(file.read("SELECT count(*) FROM changes")[0][0])
    waiting = Outbox(file, destination_key(destination)).waiting
    outbox.MESSAGES_AT_MOST = 10_000  # else the last ones wait for ten minutes
    with senders(path, [destination], lambda _line: None):
        sys.stdout.write("begun\n")
        sys.stdout.flush()
        while step < STEPS or waiting():
            seen = [diagnosis(number, step) for number in range(min(step + 1, FINDINGS))]
            now = datetime.now(UTC)
            changes = history.update(seen, {}, now)
            known = history.known
            messages = [(each, message_json(message_of_change(each, known[each.id]))) for each in changes]
            news = [each.key for each in reported(changes)]
            file.save(messages, known.values(), news=news, destinations=[destination_key(destination)])
            step += 1
            time.sleep(0.05)  # reason: the pause of a round
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

"""Follows a running watch: rounds of the detectors, changes of findings, their history, and what is to be sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from leadsman.watch.finding_changes import LONGEST_WAIT, FindingHistory, LifeTimes, reported
from leadsman.watch.sending.messages import message_json, message_of_change
from leadsman.watch.sending.sender import destination_key
from leadsman.watch.state.history_table import publish

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leadsman.catalogue import Mode
    from leadsman.notify.destination import Destination
    from leadsman.watch.finding_changes import FindingChange
    from leadsman.watch.rounds import Rounds
    from leadsman.watch.state.findings_file import FindingsFile
    from leadsman.watch.state.history_table import Target

BEGAN = "began"

HISTORY_KEPT = timedelta(days=30)
"""Of resolved findings, in the file of findings. The Delta table keeps all."""


@dataclass(slots=True)
class Following:
    """A watch that is followed. `targets` take the history; `log` takes one line for a person."""

    rounds: Rounds
    file: FindingsFile
    history: FindingHistory
    destinations: Sequence[Destination] = ()
    targets: Sequence[Target] = ()
    link: str = ""
    log: Callable[[str], None] = print
    _failing: set[str] = field(default_factory=set)

    def step(self, now: datetime) -> list[FindingChange]:
        """Run one round; return what has changed."""
        if not self.rounds.run(now) and not self.history.known:
            return []
        changes = self.history.update(self.rounds.diagnoses, self.rounds.horizons, now)
        self._save(changes)
        self.publish()
        self.file.forget(self.history.forget_before(now - HISTORY_KEPT))
        return changes

    def publish(self) -> None:
        """Write the history to its targets. One that fails gets the changes later."""
        for target in self.targets:
            try:
                publish(self.file, target)
                self._failing.discard(target[0])
            except Exception as error:  # noqa: BLE001 - an edge: a broker that is away must not end the watch
                if target[0] not in self._failing:
                    self.log(f"The history cannot be written to {target[0]}, and is written later: {error}")
                self._failing.add(target[0])

    def _save(self, changes: Sequence[FindingChange]) -> None:
        if not changes:
            return
        known = self.history.known
        messages = [(each, message_json(message_of_change(each, known[each.id], link=self.link))) for each in changes]
        self.file.save(
            messages,
            [known[name] for name in dict.fromkeys(each.id for each in changes)],
            news=[each.key for each in reported(changes)],
            destinations=[destination_key(each) for each in self.destinations],
        )


def load_history(
    file: FindingsFile,
    modes: Sequence[Mode],
    *,
    retention: timedelta,
    now: datetime | None,
    resolved_after: timedelta | None = None,
) -> FindingHistory:
    """Return the history in a file. `now`: what was over before, when this state began, is no news; None: all is.

    `resolved_after` stands in place of the idle times of the modes' cards.
    """
    began = file.fact(BEGAN, (now or datetime.min.replace(tzinfo=UTC)).isoformat())
    times = LifeTimes(
        resolved_after={mode.name: resolved_after or mode.card.resolved_after for mode in modes},
        reopened_within=min(LONGEST_WAIT, retention),
        began=datetime.fromisoformat(began),
    )
    return FindingHistory(times, file.known())

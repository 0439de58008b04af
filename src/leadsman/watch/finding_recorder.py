"""Records the changes of findings, round by round: their history in the file of findings, and what is to be sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from leadsman.watch.finding_changes import LONGEST_WAIT, FindingHistory, LifeTimes, reported
from leadsman.watch.sending.messages import message_json, message_of_change
from leadsman.watch.sending.sender import destination_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.catalogue import Mode
    from leadsman.notify.destination import Destination
    from leadsman.watch.finding_changes import FindingChange
    from leadsman.watch.rounds import Rounds
    from leadsman.watch.state.findings_file import FindingsFile

BEGAN = "began"
"""The name, in the file of findings, under which the beginning of the state is kept."""

HISTORY_KEPT = timedelta(days=30)
"""Of resolved findings, in the file of findings. The Delta table keeps all."""


@dataclass(slots=True)
class FindingRecorder:
    """Runs the rounds of a watch, and records what has changed."""

    rounds: Rounds
    file: FindingsFile
    history: FindingHistory
    destinations: Sequence[Destination] = ()
    page_url: str = ""

    def step(self, now: datetime) -> list[FindingChange]:
        """Run one round; return what has changed. It is in the file of findings then."""
        if not self.rounds.run(now) and not self.history.known:
            return []
        changes = self.history.update(self.rounds.diagnoses, self.rounds.horizons, now)
        self._save(changes)
        self.file.forget(self.history.forget_before(now - HISTORY_KEPT))
        return changes

    def _save(self, changes: Sequence[FindingChange]) -> None:
        if not changes:
            return
        known = self.history.known
        messages = [
            (each, message_json(message_of_change(each, known[each.id], page_url=self.page_url))) for each in changes
        ]
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
    """Return the history in a file.

    `now` is the beginning of a new state: a finding that was over long before is no news. Without `now` all are.
    `resolved_after` is used in place of the times in the modes' cards.
    """
    began = file.fact(BEGAN, (now or datetime.min.replace(tzinfo=UTC)).isoformat())
    times = LifeTimes(
        resolved_after={mode.name: resolved_after or mode.card.resolved_after for mode in modes},
        reopened_within=min(LONGEST_WAIT, retention),
        began=datetime.fromisoformat(began),
    )
    return FindingHistory(times, file.known())

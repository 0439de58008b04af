"""The outbox of one destination: which message is next, and what became of it.

A row is one change that the destination has not got yet. Rows become a message when they are claimed: its id is written
before it is sent, so that after a kill the same message is sent again under the same id. Many rows that wait at once
become one message, a group. A group is resolved when its last finding is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING

from leadsman.model import Life
from leadsman.notify.kind import Notification
from leadsman.watch.sending.messages import message_from_json, message_of_many

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leadsman.watch.state.findings_file import FindingsFile

GROUPED_FROM = 4
"""Findings at once that become one message: three can be read one by one on a telephone."""

MESSAGES_AT_MOST = 20
MESSAGES_WITHIN_SECONDS = 600.0
"""Of one destination: what comes beyond waits, and becomes one message. Slack takes one a second, people take fewer."""

HOME = """SELECT iif(o.state = 'sent', o.message_id, '') FROM outbox o JOIN changes c ON c.seq = o.seq
WHERE o.destination = :destination AND c.id = {finding} AND o.state IN ('sent', 'given up')
AND c.life IN ('opened', 'reopened') ORDER BY o.seq DESC LIMIT 1"""
"""SQL: the message by which a destination got a finding last."""

OPEN_IN_GROUP = f"""SELECT count(*) FROM (
  SELECT c.id, max(c.seq) AS opened FROM outbox o JOIN changes c ON c.seq = o.seq
  WHERE o.destination = :destination AND o.message_id = :group AND o.state = 'sent' AND c.life IN ('opened', 'reopened')
  GROUP BY c.id
) AS member
WHERE ({HOME.format(finding="member.id")}) = :group AND NOT EXISTS (
  SELECT 1 FROM changes c WHERE c.id = member.id AND c.life = 'resolved' AND c.seq > member.opened AND c.seq <= :seq
)"""  # noqa: S608 - put together from our own text
"""SQL: how many findings of a group had not ended after a change. A finding that was opened again elsewhere left it."""

OPENING = (Life.OPENED, Life.REOPENED)

WAITING, CLAIMED, SENT, GIVEN_UP, INCLUDED = "waiting", "claimed", "sent", "given up", "included"
"""States of a row. `included`: the finding is part of a group that goes on, or the destination never got it."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One change that is to be sent."""

    seq: int
    finding: str
    key: str
    life: Life
    at: datetime
    message: str
    state: str
    message_id: str
    attempts: int


@dataclass(frozen=True, slots=True)
class ClaimedMessage:
    """A claimed message: the rows that it stands for, and the notification."""

    rows: tuple[OutboxRow, ...]
    notification: Notification

    @property
    def attempts(self) -> int:
        """How often it was tried."""
        return max(each.attempts for each in self.rows)

    @property
    def since(self) -> datetime:
        """When its first change was noticed."""
        return min(each.at for each in self.rows)


@dataclass(frozen=True, slots=True)
class Outbox:
    """The rows of one destination. `groups` and `is_keyed` are those of its kind."""

    file: FindingsFile
    destination: str
    is_keyed: bool = False
    groups: bool = False

    def next(self, now: float) -> ClaimedMessage | None:
        """Return the message to send next; None where none waits, or too many were sent just now."""
        rows = self._rows()
        claimed = [each for each in rows if each.state == CLAIMED]
        if claimed:
            return self._outgoing([each for each in claimed if each.message_id == claimed[0].message_id])
        while rows and (self.groups or not self._is_limited(now)):
            chosen = _first_of_one_life(rows)
            message_id = self._claim(chosen)
            if message_id:
                return self.next(now)
            rows = self._rows()
        return None

    def finish(self, outgoing: ClaimedMessage, state: str, now: float) -> None:
        """Write down that a message was sent or given up."""
        with self.file.transaction() as file:
            values = [(state, now, each.seq, self.destination) for each in outgoing.rows]
            file.executemany("UPDATE outbox SET state = ?, sent_at = ? WHERE seq = ? AND destination = ?", values)

    def count_attempt(self, outgoing: ClaimedMessage) -> None:
        """Write down that a message could not be sent."""
        with self.file.transaction() as file:
            values = [(each.seq, self.destination) for each in outgoing.rows]
            file.executemany("UPDATE outbox SET attempts = attempts + 1 WHERE seq = ? AND destination = ?", values)

    def waiting(self) -> int:
        """Return how many changes are to be sent."""
        ((count,),) = self.file.read(
            "SELECT count(*) FROM outbox WHERE destination = ? AND state IN ('waiting', 'claimed')", self.destination
        )
        return int(count)

    def open_notifications(self) -> Iterator[Notification]:
        """Yield a notification for each finding that is open and was sent, to be sent again."""
        rows = self.file.read(
            """SELECT c.id, c.key, c.life, c.message FROM changes c
            JOIN outbox o ON o.seq = c.seq AND o.destination = ? AND o.state = 'sent'
            JOIN findings f ON f.id = c.id AND json_extract(f.known, '$.change.life') <> 'resolved'
            WHERE c.life <> 'resolved' ORDER BY c.seq""",
            self.destination,
        )
        latest = {row[0]: row for row in rows}
        for finding, key, life, message in latest.values():
            yield Notification(id=finding, message=message_from_json(message), life=Life(life), key=key)

    def _rows(self) -> list[OutboxRow]:
        """Return the rows that wait, the oldest first."""
        rows = self.file.read(
            """SELECT o.seq, c.id, c.key, c.life, c.at, c.message, o.state, o.message_id,
            o.attempts
            FROM outbox o JOIN changes c ON c.seq = o.seq
            WHERE o.destination = ? AND o.state IN ('waiting', 'claimed') ORDER BY o.seq""",
            self.destination,
        )
        return [
            OutboxRow(seq, name, key, Life(life), datetime.fromisoformat(at), *rest)
            for seq, name, key, life, at, *rest in rows
        ]

    def _is_limited(self, now: float) -> bool:
        ((count,),) = self.file.read(
            "SELECT count(DISTINCT message_id || state || sent_at) FROM outbox "
            "WHERE destination = ? AND sent_at BETWEEN ? AND ?",
            self.destination,
            now - MESSAGES_WITHIN_SECONDS,
            now,
        )
        return int(count) >= MESSAGES_AT_MOST

    def _claim(self, chosen: Sequence[OutboxRow]) -> str:
        """Give rows the id of their message; return it, empty where they need no message of their own."""
        first = chosen[0]
        if first.life in OPENING:
            is_single = self.groups or len(chosen) < GROUPED_FROM
            return self._set([first], CLAIMED, first.finding) if is_single else self._claim_group(chosen)
        home = self._home(first.finding)
        together = [each for each in chosen if self._home(each.finding) == home] if home != first.finding else [first]
        is_in_group = home != first.finding and first.life is Life.RESOLVED
        if not home or (is_in_group and self._is_any_open(home, seq=together[-1].seq)):
            self._set(together, INCLUDED, "")
            return ""
        if home == first.finding and not self.is_keyed and len(chosen) >= GROUPED_FROM:
            alone = [each for each in chosen if self._home(each.finding) == each.finding]
            return self._claim_group(alone) if len(alone) >= GROUPED_FROM else self._set([first], CLAIMED, home)
        return self._set(together, CLAIMED, home)

    def _claim_group(self, chosen: Sequence[OutboxRow]) -> str:
        digest = blake2b(f"{self.destination} {chosen[0].key}".encode(), digest_size=6).hexdigest()
        return self._set(chosen, CLAIMED, f"group-{digest}")

    def _set(self, rows: Sequence[OutboxRow], state: str, message_id: str) -> str:
        with self.file.transaction() as file:
            values = [(state, message_id, each.seq, self.destination) for each in rows]
            file.executemany("UPDATE outbox SET state = ?, message_id = ? WHERE seq = ? AND destination = ?", values)
        return message_id

    def _home(self, finding: str) -> str:
        """Return the id of the message by which the destination got the finding last; empty where it never did."""
        values = {"destination": self.destination, "finding": finding}
        ((message_id,),) = self.file.read(f"SELECT ({HOME.format(finding=':finding')})", values)
        return message_id or ""

    def _is_any_open(self, group: str, *, seq: int) -> bool:
        """Whether a finding of a group was open after the change `seq`."""
        values = {"destination": self.destination, "group": group, "seq": seq}
        ((count,),) = self.file.read(OPEN_IN_GROUP, values)
        return bool(count)

    def _opened_in(self, group: str) -> int:
        """Return how many findings a group had; 0 where it was not opened as a group."""
        query = """SELECT count(DISTINCT c.id) FROM outbox o JOIN changes c ON c.seq = o.seq WHERE o.destination = ?
        AND o.message_id = ? AND o.state = 'sent' AND c.life IN ('opened', 'reopened')"""
        ((count,),) = self.file.read(query, self.destination, group)
        return int(count)

    def _outgoing(self, rows: Sequence[OutboxRow]) -> ClaimedMessage:
        first = rows[0]
        if first.message_id == first.finding:
            message, key = message_from_json(first.message), first.key
        else:
            key = f"{first.message_id}.{first.seq}"
            messages = [message_from_json(each.message) for each in rows]
            opened = self._opened_in(first.message_id) if first.life is Life.RESOLVED else 0
            message = message_of_many(messages, first.life, key=key, ended=opened)
        return ClaimedMessage(tuple(rows), Notification(id=first.message_id, message=message, life=first.life, key=key))


def _first_of_one_life(rows: Sequence[OutboxRow]) -> list[OutboxRow]:
    """Return the rows that can be one message with the first: of its life, and none behind another of its finding."""
    first = rows[0]
    passed: set[str] = set()
    chosen: list[OutboxRow] = []
    for each in rows:
        if _class(each.life) == _class(first.life) and each.finding not in passed:
            chosen.append(each)
        passed.add(each.finding)
    return chosen


def _class(life: Life) -> Life:
    return Life.OPENED if life in OPENING else life

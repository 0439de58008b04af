"""The file of findings, `findings.sqlite`: the history, the findings as last seen, and the outbox, in one transaction.

A change and the messages that it causes are written together or not at all, also where the process is killed. Where
the machine loses power, the last transactions can be missing, and are made again from the events. What reads the
history elsewhere (the Delta table, a Kafka topic) and the senders go on from what stands here after a restart.
"""

from __future__ import annotations

import json
import pickle
import sqlite3
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from leadsman.errors import StateError
from leadsman.model import Life
from leadsman.watch.finding_changes import FindingChange, KnownFinding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from leadsman.model import Finding

SCHEMA_VERSION = 1

BUSY_SECONDS = 30.0
"""A transaction takes milliseconds; a disk that is full or slow takes longer."""

MAX_SEQ = (1 << 63) - 1
"""SQLite's largest integer."""

TABLES = """
CREATE TABLE changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, key TEXT NOT NULL UNIQUE,
  life TEXT NOT NULL, at TEXT NOT NULL, change TEXT NOT NULL, message TEXT NOT NULL);
CREATE INDEX changes_of_finding ON changes (id);
CREATE TABLE findings (id TEXT PRIMARY KEY, known TEXT NOT NULL, finding BLOB);
CREATE TABLE outbox (seq INTEGER NOT NULL, destination TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'waiting',
  message_id TEXT NOT NULL DEFAULT '', attempts INTEGER NOT NULL DEFAULT 0, sent_at REAL,
  PRIMARY KEY (seq, destination));
CREATE INDEX waiting ON outbox (destination, state);
CREATE INDEX messages ON outbox (destination, message_id);
CREATE TABLE published (target TEXT PRIMARY KEY, seq INTEGER NOT NULL, begun INTEGER NOT NULL);
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


class FindingsFile:
    """The file. Each thread opens its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = _open(path)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection; what is written is written as a whole."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise StateError(f"{self._path} cannot be written: {error}. Is the disk full?") from error
        except BaseException:
            self._roll_back()
            raise

    def read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Its values are given one by one, or as one dict by name."""
        named = values[0] if values and isinstance(values[0], dict) else values
        return self._connection.execute(sql, named).fetchall()

    def fact(self, name: str, value: str) -> str:
        """Return a fact of this state: as it was first written, else the value, which is written now."""
        with self.transaction() as file:
            file.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", (name, value))
        return str(self.read("SELECT value FROM facts WHERE name = ?", name)[0][0])

    def save(
        self,
        changes: Sequence[tuple[FindingChange, str]],
        known: Iterable[KnownFinding],
        *,
        news: Iterable[str] = (),
        destinations: Sequence[str] = (),
    ) -> None:
        """Write changes with their messages, the findings as they are now, and what each destination is to get."""
        keys = set(news)
        with self.transaction() as file:
            file.executemany("INSERT OR REPLACE INTO findings VALUES (?, ?, ?)", map(_finding_row, known))
            for change, message in changes:
                row = (
                    change.id,
                    change.key,
                    change.life,
                    change.at.isoformat(),
                    json.dumps(change_document(change)),
                    message,
                )
                seq = file.execute(
                    "INSERT INTO changes (id, key, life, at, change, message) VALUES (?, ?, ?, ?, ?, ?)", row
                ).lastrowid
                if change.key in keys:
                    rows = [(seq, each) for each in destinations]
                    file.executemany("INSERT INTO outbox (seq, destination) VALUES (?, ?)", rows)

    def known(self) -> dict[str, KnownFinding]:
        """Return all findings as they were last seen, by id."""
        rows = self.read("SELECT known, finding FROM findings")
        found = [_known(json.loads(text), body) for text, body in rows]
        return {each.change.id: each for each in found}

    def history(self, finding: str) -> list[FindingChange]:
        """Return the changes of one finding, the oldest first."""
        rows = self.read("SELECT change FROM changes WHERE id = ? ORDER BY seq", finding)
        return [change_of(json.loads(text)) for (text,) in rows]

    def begin_publishing(self, target: str, limit: int) -> list[tuple[int, FindingChange]]:
        """Return the changes that a target does not have yet, the oldest first, and remember which these were.

        After a kill they are the same again, so that a target that knows the last one can recognise them.
        """
        with self.transaction() as file:
            file.execute("INSERT OR IGNORE INTO published VALUES (?, 0, 0)", (target,))
            ((seq, begun),) = file.execute("SELECT seq, begun FROM published WHERE target = ?", (target,)).fetchall()
            last = begun if begun > seq else MAX_SEQ
            query = "SELECT seq, change FROM changes WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
            rows = file.execute(query, (seq, last, limit)).fetchall()
            if rows:
                file.execute("UPDATE published SET begun = ? WHERE target = ?", (rows[-1][0], target))
        return [(seq, change_of(json.loads(text))) for seq, text in rows]

    def end_publishing(self, target: str) -> None:
        """Remember that a target has the changes that were begun."""
        with self.transaction() as file:
            file.execute("UPDATE published SET seq = begun WHERE target = ?", (target,))

    def forget(self, findings: Sequence[str]) -> None:
        """Remove findings with their changes, as far as every target has them."""
        with self.transaction() as file:
            least = file.execute("SELECT min(seq) FROM published").fetchone()[0] or 0
            for each in findings:
                file.execute("DELETE FROM findings WHERE id = ?", (each,))
                file.execute("DELETE FROM outbox WHERE seq IN (SELECT seq FROM changes WHERE id = ?)", (each,))
                file.execute("DELETE FROM changes WHERE id = ? AND seq <= ?", (each, least))

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def _open(path: Path) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            for each in filter(str.strip, TABLES.split(";")):
                connection.execute(each)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        hint = "Start with another --to folder." if _is_unreadable(error) else "Is the disk full?"
        raise StateError(f"The findings in {path} cannot be read: {error}. {hint}") from error
    if version not in {0, SCHEMA_VERSION}:
        raise StateError(
            f"The findings in {path} have version {version}; this release reads {SCHEMA_VERSION}. "
            "Start with another --to folder."
        )
    return connection


def change_document(change: FindingChange) -> dict[str, Any]:
    """Return a change as JSON."""
    document = {each.name: getattr(change, each.name) for each in fields(change)}
    return {name: each.isoformat() if isinstance(each, datetime) else each for name, each in document.items()}


def change_of(document: dict[str, Any]) -> FindingChange:
    """Return the change that is written as JSON."""
    times = {name: _time(document[name]) for name in ("since", "until", "at")}
    return FindingChange(**{**document, **times, "life": Life(document["life"])})


def _finding_row(known: KnownFinding) -> tuple[str, str, bytes | None]:
    document = {
        "change": change_document(known.change),
        "until": known.until.isoformat() if known.until else None,
        "evidence_since": known.evidence_since.isoformat() if known.evidence_since else None,
        "subjects": known.subjects,
        "reported_subjects": known.reported_subjects,
        "longest_pause_seconds": known.longest_pause.total_seconds(),
        "is_retracted": known.is_retracted,
    }
    finding = replace(known.finding, points=(), matrix=None) if known.finding else None
    return known.change.id, json.dumps(document), pickle.dumps(finding) if finding else None


def _known(document: dict[str, Any], body: bytes | None) -> KnownFinding:
    return KnownFinding(
        change=change_of(document["change"]),
        until=_time(document["until"]),
        evidence_since=_time(document["evidence_since"]),
        subjects=document["subjects"],
        reported_subjects=document["reported_subjects"],
        longest_pause=timedelta(seconds=document["longest_pause_seconds"]),
        is_retracted=document["is_retracted"],
        finding=_finding(body),
    )


def _finding(body: bytes | None) -> Finding | None:
    """Return the finding; None where another release wrote it. Its life goes on all the same."""
    try:
        finding: Finding | None = pickle.loads(body) if body else None  # noqa: S301 - written by this user's own watch
    except Exception:  # noqa: BLE001 - whatever a pickle of another release raises
        return None
    return finding


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _is_unreadable(error: sqlite3.Error) -> bool:
    """Whether the file's content is wrong, so that it will never be read."""
    return getattr(error, "sqlite_errorcode", None) in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}

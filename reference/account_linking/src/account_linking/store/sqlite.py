"""The store in one SQLite file, shared by the processes of one machine."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, ClassVar

from account_linking.store.sealing import Sealer, key_file_beside
from account_linking.store.sql import SqlStore
from account_linking.store.values import SealedValues

if TYPE_CHECKING:
    from pathlib import Path

BUSY_SECONDS = 10
"""How long a writer waits for another writer's lock. A write takes a millisecond."""


class SqliteStore(SqlStore):
    """The store in one file. Without a sealer, the key is in the file PATH.key, which is made if it does not exist."""

    placeholder: ClassVar = "?"
    bytes_type: ClassVar = "blob"

    def __init__(self, path: Path | str, sealer: Sealer | None = None) -> None:
        self.path = str(path)
        self.values = SealedValues(sealer or Sealer(key_file_beside(path)))
        self.create()

    def create(self) -> None:
        """Create the tables that do not exist yet."""
        self._run_alone("pragma journal_mode = wal")
        super().create()

    def _connect(self) -> Any:  # noqa: ANN401 - a connection of any database
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS)
        connection.execute("pragma secure_delete = on")  # overwrites what is deleted: a token must not stay in the file
        return connection

    def reseal(self) -> int:
        """Seal every token again with the current key, and write the file anew without the old tokens."""
        count = super().reseal()
        self._run_alone("vacuum")
        self._run_alone("pragma wal_checkpoint(truncate)")
        return count

    def _run_alone(self, statement: str) -> None:
        """Run a statement that SQLite allows outside of a transaction only."""
        connection = self._connect()
        try:
            connection.isolation_level = None
            connection.execute(statement).fetchall()
        finally:
            connection.close()

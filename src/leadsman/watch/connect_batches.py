"""Batches of a query on a Spark Connect server: its function writes them into the state, and the client takes them.

The function of `foreachBatch` runs in a process of the server, which cannot call the client. Both see the folder of the
state. A batch that the server runs again replaces its own file, and has the id by which a table knows it.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame

MAX_WAITING = 600
"""Batches that wait for the client: ten minutes of triggers. A server goes on when its client is gone; at this number
the query ends by an error, and the next watch begins where it was."""


class ClientGone(Exception):
    """Nobody takes the batches."""


@dataclass(frozen=True, slots=True)
class BatchFiles:
    """The folder in which batches wait for the client, a file of Arrow's for each."""

    folder: Path

    def write(self, rows: pa.Table, batch_id: int) -> None:
        """Write a batch, whole or not at all. Raises ClientGone where too many wait."""
        import pyarrow as pa

        self.folder.mkdir(parents=True, exist_ok=True)
        if len(self.waiting()) >= MAX_WAITING:
            raise ClientGone(f"{MAX_WAITING} batches wait in {self.folder}: no `leadsman watch` takes them any more.")
        part = self.folder / f".{batch_id}.{os.getpid()}"
        with pa.OSFile(str(part), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows)
        part.replace(self._path(batch_id))

    def waiting(self) -> list[int]:
        """Return the ids of the batches that wait, in their order."""
        names = (each.name for each in self.folder.glob("*.arrow"))
        return sorted(int(batch_id) for name in names if (batch_id := name.removesuffix(".arrow")).isdigit())

    def read(self, batch_id: int) -> list[dict[str, Any]]:
        """Return the rows of a batch."""
        import pyarrow as pa

        with pa.OSFile(str(self._path(batch_id)), "rb") as file:
            rows: list[dict[str, Any]] = pa.ipc.open_file(file).read_all().to_pylist()
        return rows

    def remove(self, batch_id: int) -> None:
        """Remove a batch that the client has taken."""
        self._path(batch_id).unlink(missing_ok=True)

    def _path(self, batch_id: int) -> Path:
        return self.folder / f"{batch_id}.arrow"


def batch_writer(files: BatchFiles) -> Callable[[DataFrame, int], None]:
    """Return the function of `foreachBatch` that runs on the server.

    It is sent with this module in it: that process of the server does not get the session's packages.
    """
    from pyspark.cloudpickle import register_pickle_by_value

    register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]  # PySpark has no types for it
    return partial(_write_batch, files)


def _write_batch(files: BatchFiles, batch: DataFrame, batch_id: int) -> None:
    files.write(batch.toArrow(), batch_id)

"""The Delta tables of a watch, written by delta-rs: an append takes 0.02 s, Spark's one to two of processor.

One process writes them at a time. Spark, and all that reads Delta, reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

PROPERTIES = {"delta.logRetentionDuration": "interval 1 day"}
"""An append a second leaves 86,400 files of the log a day; a reader needs those since the last checkpoint."""

VACUUM_HOURS = 1
"""Files that a transaction replaced are kept so long: a reader that began before it still finds them."""


def append(folder: Path, rows: pa.Table, *, txn_app_id: str, txn_version: int) -> None:
    """Append rows, and make the table where there is none. A `txn_version` that was appended before is left out."""
    from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

    table = DeltaTable(folder) if exists(folder) else None
    last = table.transaction_version(txn_app_id) if table else None
    if last is None or last < txn_version:
        commit = CommitProperties(app_transactions=[Transaction(txn_app_id, txn_version)])
        write_deltalake(table or folder, rows, mode="append", configuration=PROPERTIES, commit_properties=commit)


def read(folder: Path, schema: pa.Schema) -> pa.Table:
    """Return the rows of a table, none where there is no table.

    Arrow reads the files that delta-rs names. Through delta-rs's own file system, threads of a scan were still running
    at the end of one short process of seven, which aborted.
    """
    import pyarrow.parquet as pq
    from deltalake import DeltaTable

    files = DeltaTable(folder).file_uris() if exists(folder) else []
    return pq.read_table(files, columns=schema.names).cast(schema) if files else schema.empty_table()


def replace(folder: Path, rows: pa.Table) -> None:
    """Replace all rows in one transaction, and remove the files that were replaced before the last hour."""
    from deltalake import DeltaTable, write_deltalake

    table = DeltaTable(folder)
    write_deltalake(table, rows, mode="overwrite")
    table.vacuum(retention_hours=VACUUM_HOURS, enforce_retention_duration=False, dry_run=False)


def exists(folder: Path) -> bool:
    """Whether there is a table."""
    from deltalake import DeltaTable

    return bool(DeltaTable.is_deltatable(str(folder)))

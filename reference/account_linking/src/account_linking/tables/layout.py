"""The tables' paths and columns. Each column is defined once, here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from account_linking.tables.first_commit import delta_log, write_first_commit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEY: Final = ("provider", "provider_account_id", "provider_transaction_id")
"""The key of a transaction. The id alone is not unique with every provider."""

CONTENT: Final = {
    "status": "string",
    "raw_status": "string",
    "amount": "decimal(33,18)",
    "direction": "string",
    "currency": "string",
    "unofficial_currency": "string",
    "posted_date": "date",
    "transaction_date": "date",
    "posted_at": "timestamp",
    "authorized_at": "timestamp",
    "description_raw": "string",
    "description_clean": "string",
    "counterparty_name": "string",
    "counterparty_id": "string",
    "counterparty_type": "string",
    "mcc": "string",
    "payment_channel": "string",
    "check_number": "string",
    "pending_of": "string",
    "category_system": "string",
    "category_version": "string",
    "category_primary": "string",
    "category_detailed": "string",
    "category_confidence": "string",
}
"""The generic schema of a transaction. Amounts are signed from the account holder's view: negative is money out. Their
type has the 18 decimal places of ether; an amount has no more of them than its currency (`currencies/`)."""

LINEAGE: Final = {
    "user_ref": "string",
    "item_ref": "string",
    "revision": "bigint",
    "op": "string",
    "source_topic": "string",
    "source_partition": "int",
    "source_offset": "bigint",
    "received_at": "timestamp",
    "raw_sha256": "string",
    "schema_version": "int",
    "_extra": "map<string,string>",
}

BRONZE: Final = {
    "provider": "string",
    "entity": "string",
    "key": "string",
    "value": "string",
    "item_ref": "string",
    "user_ref": "string",
    "op": "string",
    "revision": "bigint",
    "source_topic": "string",
    "source_partition": "int",
    "source_offset": "bigint",
    "received_at": "timestamp",
    "raw_sha256": "string",
}

SILVER: Final = {
    **dict.fromkeys(KEY, "string"),
    "logical_transaction_id": "string",
    **CONTENT,
    **LINEAGE,
    "is_deleted": "boolean",
}

ACCOUNTS: Final = {
    "provider": "string",
    "provider_account_id": "string",
    "user_ref": "string",
    "kind": "string",
    "raw_kind": "string",
    "name": "string",
    "revision": "bigint",
}

QUARANTINE: Final = {
    **BRONZE,
    "errors": "array<struct<rule:string,field:string,value:string>>",
    "rule_version": "int",
    "replayed_at": "timestamp",
}

CLASSIFIED: Final = {
    **dict.fromkeys(KEY, "string"),
    "logical_transaction_id": "string",
    "user_ref": "string",
    **CONTENT,
    "revision": "bigint",
    "is_deleted": "boolean",
    "class": "string",
    "class_source": "string",
    "class_confidence": "string",
    "class_version": "string",
    "transfer_of": "string",
    "content_sha256": "string",
    "event_id": "string",
}

MONTHLY: Final = {
    "user_ref": "string",
    "month": "date",
    "currency": "string",
    "class": "string",
    "transactions": "bigint",
    "amount": "decimal(38,18)",
    "money_in": "decimal(38,18)",
    "money_out": "decimal(38,18)",
}
"""Both legs of a transfer have its class: their sum `amount` is 0, and `money_in` is the amount that was moved."""

OVERRIDES: Final = {"user_ref": "string", "logical_transaction_id": "string", "class": "string"}
USER_RULES: Final = {"user_ref": "string", "contains": "string", "class": "string"}
HOLDERS: Final = {"user_ref": "string", "provider_account_id": "string"}
"""The accounts of which a user has or had a transaction. Rows are only added, before silver has the transaction."""

FORGOTTEN: Final = {"user_sha256": "string", "forgotten_at": "timestamp"}
"""Users that were deleted on request, by a hash of their name: their older records stay out of the tables."""

FORGOTTEN_VERSION: Final = "forgotten"
"""The `class_version` of a row of `classified` that is about to be deleted: its event is a record without a value."""

TABLES: Final = {
    "bronze": BRONZE,
    "silver": SILVER,
    "accounts": ACCOUNTS,
    "quarantine": QUARANTINE,
    "classified": CLASSIFIED,
    "monthly": MONTHLY,
    "overrides": OVERRIDES,
    "rules": USER_RULES,
    "holders": HOLDERS,
    "forgotten": FORGOTTEN,
}

CLUSTERED: Final = {
    "silver": "provider_account_id",
    "accounts": "provider_account_id",
    "classified": "provider_account_id",
    "monthly": "user_ref",
    "overrides": "user_ref",
    "rules": "user_ref",
    "holders": "user_ref",
}
"""The clustering column of each table, so that Delta skips files. Accounts and transactions are clustered by account,
which is part of their key, and not by user, which is not: when another user fetches a joint account, its rows move to
that user."""

STATISTICS_COLUMNS: Final = {
    "bronze": ("user_ref", "source_topic", "source_partition", "source_offset", "received_at"),
    "quarantine": ("user_ref", "item_ref", "source_topic", "source_partition", "source_offset"),
    "monthly": ("user_ref", "month"),
    "forgotten": ("user_sha256",),
}
"""The columns with statistics, by which Delta skips files, where they are not the account and the user. By default
Delta has them of 32 columns: every commit computes them, and every query parses those of all files."""

COMMITS_PER_CHECKPOINT: Final = 50
"""With Delta's default, 10, the checkpoints of five tables cost more than half of every tenth small batch."""


def properties(table: str) -> dict[str, str]:
    """Return the Delta properties of a new table. The stream of changes reads the change data feed of `classified`."""
    by_account = tuple(name for name in ("provider_account_id", "user_ref") if name in TABLES[table])
    feed = {"delta.enableChangeDataFeed": "true"} if table == "classified" else {}
    return {
        **feed,
        "delta.dataSkippingStatsColumns": ",".join(STATISTICS_COLUMNS.get(table, by_account)),
        "delta.checkpointInterval": str(COMMITS_PER_CHECKPOINT),
    }


@dataclass(frozen=True, slots=True)
class Layout:
    """The tables below one folder, or below a URL that Spark can write to."""

    root: str

    def path(self, table: str) -> str:
        """Return the path of a table."""
        return f"{self.root}/{table}"

    def sql(self, table: str) -> str:
        """Return a table's name in SQL."""
        return f"delta.`{self.path(table)}`"

    def create(self, spark: SparkSession) -> None:
        """Create missing and incomplete tables: a driver killed meanwhile leaves a Delta log without a commit.

        `create table if not exists` would accept such a folder as a table and leave it without a commit.
        """
        silver = delta_log(spark, self.path("silver"))
        has_silver = silver is not None and silver.tableExists()
        for table in TABLES:
            log = delta_log(spark, self.path(table))
            if log is None or (table == "holders" and has_silver and not log.tableExists()):
                self._save(spark, table)
            elif not log.tableExists():
                write_first_commit(spark, log, TABLES[table], properties(table))

    def _save(self, spark: SparkSession, table: str) -> None:
        """Create a table by writing a frame, unless it exists."""
        rows = self._holders_in_silver(spark) if table == "holders" else self.no_rows(spark, table)
        rows.write.format("delta").options(**properties(table)).mode("ignore").save(self.path(table))

    def no_rows(self, spark: SparkSession, table: str) -> DataFrame:
        """Return a frame with a table's columns and without rows."""
        columns = ", ".join(f"cast(null as {kind}) as `{name}`" for name, kind in TABLES[table].items())
        return spark.sql(f"select {columns} limit 0")

    def _holders_in_silver(self, spark: SparkSession) -> DataFrame:
        """Return the holders by silver's rows: all that is known where silver is older than the table of holders."""
        return spark.read.format("delta").load(self.path("silver")).select(*HOLDERS).distinct()

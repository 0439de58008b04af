"""Classifies transactions: income, spending, savings and so on. A pure function of silver, so it can be run again.

The first source with a class wins, and `class_source` names it: the user's rule, the user's override, the account, an
internal transfer, the provider's category, the merchant category code, words of the description; else `none`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from account_linking.tables import maps
from account_linking.tables.batch_size import in_one_partition
from account_linking.tables.batch_users import named_users
from account_linking.tables.layout import CLASSIFIED, CONTENT, KEY, MONTHLY
from account_linking.tables.merge import merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from account_linking.tables.batch_users import BatchUsers
    from account_linking.tables.layout import Layout
    from account_linking.tables.versions import Versions

TRANSFER_DAYS = 4
"""Maximum days between the legs of a transfer: a weekend and a working day."""

NAMESPACE = "a5b2c1d0-6f1e-5d3a-9c47-1f0f6b7e2a91"
"""The namespace of event ids (UUID version 5): any fixed UUID serves."""

TRANSFER_LIKE = "('transfer_internal', 'transfer_external', 'savings', 'investment', 'debt_payment', 'uncategorized')"
"""Provider's classes whose transactions may be legs of a transfer. A purchase of 50 is no leg, though 50 came in."""

MAX_BROADCAST_LEGS = 200_000
"""Maximum of legs that Spark broadcasts to every executor: some 100 bytes each, 20 MB."""

SOURCES = ("user_rule", "override", "account", "transfer", "provider", "mcc", "words")


def classified_rows(spark: SparkSession, users: BatchUsers, versions: Versions, *, small: bool) -> DataFrame:
    """Compute the rows of `classified` for these users."""
    layout = versions.layout
    empty = [table for table in ("overrides", "rules") if versions.is_empty(spark, table)]
    tables = ("silver", "accounts", "overrides", "rules")
    frames = {
        table: layout.no_rows(spark, table) if table in empty else users.read(layout, table, spark) for table in tables
    }
    return classify(**frames, small=small)


def classify(
    *, silver: DataFrame, accounts: DataFrame, overrides: DataFrame, rules: DataFrame, small: bool
) -> DataFrame:
    """Classify silver rows. Needs all rows of a user: the other leg of a transfer may be any of them."""
    spark = silver.sparkSession
    silver.createOrReplaceTempView("classify_silver")
    for name, frame in (("accounts", accounts), ("overrides", overrides), ("rules", rules)):
        frame.createOrReplaceTempView(f"classify_{name}")
    # Spark repeats a plan wherever it is read, and Delta lists files each time. localCheckpoint computes it once.
    known = in_one_partition(spark.sql(_with_user_classes()), small=small)
    known.localCheckpoint().createOrReplaceTempView("classify_known")
    transfers = spark.sql(TRANSFERS)
    if not small:
        transfers = _broadcast_if_small(transfers.localCheckpoint())
    transfers.createOrReplaceTempView("classify_transfers")
    spark.sql(_candidate_classes()).createOrReplaceTempView("classify_mapped")
    return spark.sql(_first_class()).selectExpr(*_add_ids()).select(*CLASSIFIED)


def _broadcast_if_small(legs: DataFrame) -> DataFrame:
    """Broadcast few legs: Spark cannot estimate their number, and would sort all columns of all transactions."""
    return legs.hint("broadcast") if legs.count() <= MAX_BROADCAST_LEGS else legs


def _with_user_classes() -> str:
    """Return SQL of the transactions with their account's kind, and with what their user has said."""
    return f"""
select s.*, a.account_kind, o.class as by_override, r.rules, {_id()}, {maps.by_category()} as by_provider
from classify_silver s
left join (select provider, provider_account_id, kind as account_kind from classify_accounts) a
  using (provider, provider_account_id)
left join (select user_ref, logical_transaction_id, any_value(class) as class from classify_overrides
           group by user_ref, logical_transaction_id) o using (user_ref, logical_transaction_id)
left join (select user_ref, sort_array(collect_list(named_struct('long', -length(contains), 'contains', contains,
           'class', class))) as rules from classify_rules group by user_ref) r using (user_ref)
"""


def _candidate_classes() -> str:
    """Return SQL with one column by_<source> for each source. Patterns cost most: used where no map has a class."""
    by_rule = (
        "get(filter(rules, r -> contains(lower(concat_ws(' ', description_clean, description_raw)),"
        " lower(r.contains))), 0).class"
    )
    by_account = (
        "case when account_kind = 'investment' then 'investment'"
        " when account_kind = 'loan' and amount > 0 then 'debt_payment' end"
    )
    return f"""
with with_maps as (
  select *, if(rules is null, null, {by_rule}) as by_user_rule, {by_account} as by_account, {maps.by_mcc()} as by_mcc
  from classify_known)
select *, if(coalesce(by_provider, by_mcc) is null, {maps.by_words()}, null) as by_words from with_maps
"""


def _id() -> str:
    return f"concat_ws('|', {', '.join(KEY)}) as id"


POSSIBLE_LEGS = f"""
select user_ref, provider, provider_account_id, amount, account_kind, id,
       coalesce(currency, unofficial_currency) as money, coalesce(posted_date, transaction_date) as day
from classify_known
where not is_deleted and amount <> 0 and status in ('POSTED', 'PENDING')
  and coalesce(by_provider, 'uncategorized') in {TRANSFER_LIKE}
"""
"""Possible legs of transfers, with the columns by which legs are matched."""

TRANSFERS = f"""
with possible_legs as ({POSSIBLE_LEGS}),
pairs as (
  select o.id as out_id, i.id as in_id, i.account_kind as target_kind, abs(datediff(i.day, o.day)) as days_apart
  from possible_legs o join possible_legs i
    on o.user_ref = i.user_ref and o.money = i.money and o.amount = -i.amount and o.amount < 0
   and (o.provider <> i.provider or o.provider_account_id <> i.provider_account_id)
   and abs(datediff(i.day, o.day)) <= {TRANSFER_DAYS}),
ranked as (
  select *, row_number() over (partition by out_id order by days_apart, in_id) = 1
        and row_number() over (partition by in_id order by days_apart, out_id) = 1 as is_pair from pairs),
unmatched as (
  select *, not max(is_pair) over (partition by out_id) and not max(is_pair) over (partition by in_id) as is_unmatched
  from ranked),
second as (
  select *, row_number() over (partition by out_id, is_unmatched order by days_apart, in_id) = 1
        and row_number() over (partition by in_id, is_unmatched order by days_apart, out_id) = 1 as is_second_pair
  from unmatched),
legs as (
  select target_kind, explode(array(struct(out_id as id, in_id as of), struct(in_id as id, out_id as of))) as side
  from second where is_pair or (is_unmatched and is_second_pair))
select side.id, side.of as transfer_of, case when target_kind in ('savings', 'investment') then target_kind
  when target_kind = 'loan' then 'debt_payment' else 'transfer_internal' end as by_transfer from legs
"""
"""Both legs of each transfer. The best match of a leg is the nearest in days, then the first by id; two legs that are
each other's best match are a pair. A second round pairs legs whose best match was taken."""


def _first_class() -> str:
    known = ", ".join(f"by_{source}" for source in SOURCES)
    source = " ".join(f"when by_{source} is not null then '{source}'" for source in SOURCES)
    return f"""
with joined as (
  select m.*, s.by_transfer, s.transfer_of from classify_mapped m left join classify_transfers s using (id)),
decided as (
  select *, coalesce({known}, 'uncategorized') as decided, case {source} else 'none' end as decided_by from joined)
select *, if(is_deleted, null, if(decided = 'spending' and amount > 0, 'refund', decided)) as class,
       if(is_deleted, 'deleted', decided_by) as class_source,
       if(decided_by = 'provider', category_confidence, null) as class_confidence,
       '{maps.version()}' as class_version
from decided
"""


def _add_ids() -> list[str]:
    """Add a hash of the content, which differs between states of a transaction, and an event id, equal in every run."""
    content = ", ".join(
        [*CONTENT, "logical_transaction_id", "user_ref", "class", "class_source", "is_deleted", "transfer_of"]
    )
    sha = f"sha2(to_json(struct({content})), 256)"
    name = f"concat_ws('|', {', '.join(KEY)}, if(is_deleted, 'DELETE', 'UPSERT'), {sha})"
    return ["*", f"{sha} as content_sha256", f"{uuid5(name)} as event_id"]


def uuid5(name: str) -> str:
    """Return SQL that computes a name's UUID version 5 (RFC 9562)."""
    digest = f"sha1(concat(unhex('{NAMESPACE.replace('-', '')}'), encode({name}, 'UTF-8')))"
    variant = f"translate(substr({digest}, 17, 1), '0123456789abcdef', '89ab89ab89ab89ab')"
    return (
        f"concat(substr({digest}, 1, 8), '-', substr({digest}, 9, 4), '-5', substr({digest}, 14, 3), '-',"
        f" {variant}, substr({digest}, 18, 3), '-', substr({digest}, 21, 12))"
    )


def refresh(
    spark: SparkSession, versions: Versions, users: BatchUsers, *, removes: bool = False, small: bool = False
) -> None:
    """Update `classified` and `monthly` for these users. Rows with unchanged content are not written.

    Two writers may do so at a time: the stream and a rebuild. The one that reads first may write last, an earlier
    state. So each repeats it for those users whose rows of silver or accounts another writer has changed meanwhile.
    With `removes`, rows of `classified` are deleted whose transaction has left silver.
    """
    before = _versions(spark, versions)
    again: BatchUsers | None = users
    while again is not None:
        rows = _merge_classified(spark, versions, again, removes=removes, small=small)
        _merge_monthly(rows, versions.layout, again, small=small)
        now = _versions(spark, versions)
        again = _changed_users(spark, versions.layout, again, (before, now)) if now != before else None
        before = now


def _versions(spark: SparkSession, versions: Versions) -> tuple[int, int]:
    """Return the versions of the tables that classes and months are computed from: silver, accounts."""
    return versions.latest(spark, "silver"), versions.latest(spark, "accounts")


def _changed_users(
    spark: SparkSession, layout: Layout, users: BatchUsers, versions: tuple[tuple[int, int], tuple[int, int]]
) -> BatchUsers | None:
    """Return those of the users whose transactions or accounts differ between two versions; None without any."""
    transactions, accounts = (
        [users.read(layout, table, spark, version=version) for version in of_table]
        for table, of_table in zip(("silver", "accounts"), zip(*versions, strict=True), strict=True)
    )
    changed = _different(*transactions, by="user_ref", columns=(*KEY, "revision", "schema_version"))
    changed_accounts = _different(*accounts, by="provider_account_id", columns=("provider", "revision", "kind"))
    holders = users.read(layout, "holders", spark).join(changed_accounts, "provider_account_id", "left_semi")
    names = {row.user_ref for row in changed.unionByName(holders.select("user_ref")).distinct().collect()}
    return named_users(spark, layout, names) if names else None


def _different(one: DataFrame, other: DataFrame, *, by: str, columns: Sequence[str]) -> DataFrame:
    """Return the values of column `by` whose rows differ in these columns."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    state = F.expr(f"struct(count(*) as _rows, bit_xor(xxhash64({', '.join(columns)})) as _hash)")
    states = [frame.groupBy(by).agg(state.alias(name)) for frame, name in ((one, "_one"), (other, "_other"))]
    return states[0].join(states[1], by, "full_outer").where("not (_one <=> _other)").select(by)


def _merge_classified(
    spark: SparkSession, versions: Versions, users: BatchUsers, *, removes: bool, small: bool
) -> DataFrame:
    """Merge these users' rows of `classified`, and return them."""
    layout = versions.layout
    known = users.read(layout, "classified", spark)
    if removes:  # read before silver, which gets every transaction earlier
        known = known.select(*KEY, "user_ref", "revision", "content_sha256").localCheckpoint()
    rows = in_one_partition(classified_rows(spark, users, versions, small=small), small=small).localCheckpoint()
    changed = rows.selectExpr("*", "false as _removed")
    if removes:
        removed = known.join(rows, [*KEY], "left_anti").selectExpr("*", "true as _removed")
        changed = changed.unionByName(removed, allowMissingColumns=True)
    merge(
        changed,
        layout,
        table="classified",
        key=KEY,
        users=users,
        update_when=f"not s._removed and ({CHANGED})",
        delete_when=f"s._removed and not ({CHANGED}) and t.user_ref = s.user_ref",
        insert_when="not s._removed",
    )
    return rows


def _merge_monthly(classified: DataFrame, layout: Layout, users: BatchUsers, *, small: bool) -> None:
    rows = in_one_partition(_monthly(classified, users.read(layout, "monthly", classified.sparkSession)), small=small)
    merge(
        rows.localCheckpoint() if small else rows,
        layout,
        table="monthly",
        key=tuple(MONTHLY)[:4],
        users=users,
        update_when="not s._removed",
        delete_when="s._removed",
        insert_when="not s._removed",
    )


CHANGED = "t.content_sha256 <> s.content_sha256 or t.revision <> s.revision"


def _monthly(classified: DataFrame, known: DataFrame) -> DataFrame:
    """Return the monthly sums of these transactions, and the `known` rows to delete. Only posted transactions count."""
    classified.createOrReplaceTempView("months_classified")
    known.createOrReplaceTempView("months_known")
    return classified.sparkSession.sql("""
with now as (
  select user_ref, cast(trunc(coalesce(posted_date, transaction_date), 'month') as date) as month,
         coalesce(currency, unofficial_currency) as currency, class, count(*) as transactions,
         try_sum(amount) as amount,
         try_sum(greatest(amount, 0)) as money_in,
         try_sum(least(amount, 0)) as money_out
  from months_classified where not is_deleted and status = 'POSTED' group by all)
select *, false as _removed from now
union all
select m.*, true as _removed from months_known m left anti join now n
  on m.user_ref = n.user_ref and m.month = n.month and m.currency = n.currency and m.class = n.class
""")

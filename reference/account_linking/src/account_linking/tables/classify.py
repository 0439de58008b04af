"""What each transaction is: income, spending, savings and so on. A pure function of silver, so it can be run again.

The first that knows wins, and is named: the user's rule, the user's override, the account itself, an internal transfer,
the provider's category, the merchant's code, words, nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from account_linking.tables import maps
from account_linking.tables.layout import CLASSIFIED, CONTENT, KEY, MONTHLY
from account_linking.tables.merge import merge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from account_linking.tables.layout import Layout
    from account_linking.tables.users import Users

TRANSFER_DAYS = 4
"""How far apart the legs of a transfer may be: a weekend and a working day."""

NAMESPACE = "a5b2c1d0-6f1e-5d3a-9c47-1f0f6b7e2a91"
"""Of the event ids: any fixed UUID serves."""

TRANSFER_LIKE = "('transfer_internal', 'transfer_external', 'savings', 'investment', 'debt_payment', 'uncategorized')"
"""Classes of the provider's that leave a transaction free to be a leg. A purchase of 50 is none, though 50 came in."""

MOST_BROADCAST = 200_000
"""Legs of transfers that every core gets whole: some 100 bytes each, 20 MB."""

SOURCES = ("user_rule", "override", "account", "transfer", "provider", "mcc", "words")


def classified(spark: SparkSession, layout: Layout, users: Users) -> DataFrame:
    """Return the rows of `classified` for these users, computed anew."""
    tables = ("silver", "accounts", "overrides", "rules")
    return of(**{table: users.read(layout, table, spark) for table in tables})


def of(*, silver: DataFrame, accounts: DataFrame, overrides: DataFrame, rules: DataFrame) -> DataFrame:
    """Classify silver rows. All of a user's are needed: the other leg of a transfer may be any of them.

    `silver` is read twice: the few columns that legs of transfers are found by, and then all.
    """
    spark = silver.sparkSession
    silver.createOrReplaceTempView("classify_silver")
    for name, frame in (("accounts", accounts), ("overrides", overrides), ("rules", rules)):
        frame.createOrReplaceTempView(f"classify_{name}")
    # Spark copies a plan to each place that reads it: what several places read is computed once and cut off.
    spark.sql(_free()).localCheckpoint().createOrReplaceTempView("classify_free")
    _sized(spark.sql(SIDES).localCheckpoint()).createOrReplaceTempView("classify_sides")
    spark.sql(_mapped()).createOrReplaceTempView("classify_mapped")
    return spark.sql(_chosen()).selectExpr(*_with_ids()).select(*CLASSIFIED)


def _sized(sides: DataFrame) -> DataFrame:
    """Say that few legs are few: Spark cannot know, and would sort all columns of all transactions to join them."""
    return sides.hint("broadcast") if sides.count() <= MOST_BROADCAST else sides


OF_ACCOUNT = """
left join (select provider, provider_account_id, kind as account_kind from classify_accounts) a
  using (provider, provider_account_id)
"""

KNOWN = f"""
select s.*, a.account_kind, o.class as by_override, r.rules
from classify_silver s {OF_ACCOUNT}
left join (select user_ref, logical_transaction_id, any_value(class) as class from classify_overrides
           group by user_ref, logical_transaction_id) o using (user_ref, logical_transaction_id)
left join (select user_ref, sort_array(collect_list(named_struct('long', -length(contains), 'contains', contains,
           'class', class))) as rules from classify_rules group by user_ref) r using (user_ref)
"""


def _mapped() -> str:
    """Return what each source of classes says. Patterns are the dearest: asked only where no map has an answer."""
    by_rule = (
        "get(filter(rules, r -> contains(lower(concat_ws(' ', description_clean, description_raw)),"
        " lower(r.contains))), 0).class"
    )
    by_account = (
        "case when account_kind = 'investment' then 'investment'"
        " when account_kind = 'loan' and amount > 0 then 'debt_payment' end"
    )
    return f"""
with known as ({KNOWN}),
of_maps as (
  select *, {_id()}, if(rules is null, null, {by_rule}) as by_user_rule, {by_account} as by_account,
         {maps.by_category()} as by_provider, {maps.by_mcc()} as by_mcc from known)
select *, if(coalesce(by_provider, by_mcc) is null, {maps.by_words()}, null) as by_words from of_maps
"""


def _id() -> str:
    return f"concat_ws('|', {', '.join(KEY)}) as id"


def _free() -> str:
    """Return what may be a leg of a transfer, by the columns that legs are found by."""
    return f"""
select user_ref, provider, provider_account_id, amount, account_kind, {_id()},
       coalesce(currency, unofficial_currency) as money, coalesce(posted_date, transaction_date) as day
from classify_silver s {OF_ACCOUNT}
where not is_deleted and amount <> 0 and status in ('POSTED', 'PENDING')
  and coalesce({maps.by_category()}, 'uncategorized') in {TRANSFER_LIKE}
"""


SIDES = f"""
with pairs as (
  select o.id as out_id, i.id as in_id, i.account_kind as into_kind, abs(datediff(i.day, o.day)) as apart
  from classify_free o join classify_free i
    on o.user_ref = i.user_ref and o.money = i.money and o.amount = -i.amount and o.amount < 0
   and (o.provider <> i.provider or o.provider_account_id <> i.provider_account_id)
   and abs(datediff(i.day, o.day)) <= {TRANSFER_DAYS}),
ranked as (
  select *, row_number() over (partition by out_id order by apart, in_id) = 1
        and row_number() over (partition by in_id order by apart, out_id) = 1 as met from pairs),
rest as (
  select *, not max(met) over (partition by out_id) and not max(met) over (partition by in_id) as left_over
  from ranked),
second as (
  select *, row_number() over (partition by out_id, left_over order by apart, in_id) = 1
        and row_number() over (partition by in_id, left_over order by apart, out_id) = 1 as met_then from rest),
sides as (
  select into_kind, explode(array(struct(out_id as id, in_id as of), struct(in_id as id, out_id as of))) as side
  from second where met or (left_over and met_then))
select side.id, side.of as transfer_of, case when into_kind in ('savings', 'investment') then into_kind
  when into_kind = 'loan' then 'debt_payment' else 'transfer_internal' end as by_transfer from sides
"""
"""Both sides of each transfer. Of all that fit, the one nearest in time, then the first by id; two who are each other's
first are a pair. A second round pairs those whose first choice was taken."""


def _chosen() -> str:
    known = ", ".join(f"by_{source}" for source in SOURCES)
    source = " ".join(f"when by_{source} is not null then '{source}'" for source in SOURCES)
    return f"""
with joined as (
  select m.*, s.by_transfer, s.transfer_of from classify_mapped m left join classify_sides s using (id)),
decided as (
  select *, coalesce({known}, 'uncategorized') as decided, case {source} else 'nobody' end as decided_by from joined)
select *, if(is_deleted, null, if(decided = 'spending' and amount > 0, 'refund', decided)) as class,
       if(is_deleted, 'deleted', decided_by) as class_source,
       if(decided_by = 'provider', category_confidence, null) as class_confidence,
       '{maps.version()}' as class_version
from decided
"""


def _with_ids() -> list[str]:
    """Add what tells two states of a transaction apart, and an id that is the same whoever makes the event again."""
    content = ", ".join([*CONTENT, "class", "class_source", "is_deleted", "transfer_of"])
    sha = f"sha2(to_json(struct({content})), 256)"
    name = f"concat_ws('|', {', '.join(KEY)}, if(is_deleted, 'DELETE', 'UPSERT'), {sha})"
    return ["*", f"{sha} as content_sha256", f"{uuid5(name)} as event_id"]


def uuid5(name: str) -> str:
    """Return the SQL of a name's UUID of version 5, as RFC 9562 makes it."""
    digest = f"sha1(concat(unhex('{NAMESPACE.replace('-', '')}'), encode({name}, 'UTF-8')))"
    variant = f"lower(hex((conv(substr({digest}, 17, 1), 16, 10) & 3) | 8))"
    return (
        f"concat(substr({digest}, 1, 8), '-', substr({digest}, 9, 4), '-5', substr({digest}, 14, 3), '-',"
        f" right({variant}, 1), substr({digest}, 18, 3), '-', substr({digest}, 21, 12))"
    )


def refresh(spark: SparkSession, layout: Layout, users: Users) -> None:
    """Bring `classified` and `monthly` up to date for these users. A row that says what it said is left alone."""
    merge(
        classified(spark, layout, users).localCheckpoint(),
        layout,
        table="classified",
        key=KEY,
        users=users,
        changed="t.content_sha256 <> s.content_sha256 or t.revision <> s.revision",
    )
    merge(
        _monthly(spark, layout, users),
        layout,
        table="monthly",
        key=tuple(MONTHLY)[:4],
        users=users,
        changed="true",
        gone="s._gone",
    )


def _monthly(spark: SparkSession, layout: Layout, users: Users) -> DataFrame:
    """Return the months of these users, and those that are no more. Only what is posted counts."""
    for table in ("classified", "monthly"):
        users.read(layout, table, spark).createOrReplaceTempView(f"months_{table}")
    return spark.sql("""
with now as (
  select user_ref, cast(trunc(coalesce(posted_date, transaction_date), 'month') as date) as month,
         coalesce(currency, unofficial_currency) as currency, class, count(*) as transactions,
         cast(sum(amount) as decimal(29,4)) as amount,
         cast(sum(greatest(amount, 0)) as decimal(29,4)) as money_in,
         cast(sum(least(amount, 0)) as decimal(29,4)) as money_out
  from months_classified where not is_deleted and status = 'POSTED' group by all)
select *, false as _gone from now
union all
select m.*, true as _gone from months_monthly m left anti join now n
  on m.user_ref = n.user_ref and m.month = n.month and m.currency = n.currency and m.class = n.class
""")

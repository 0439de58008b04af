"""Reports the quarantine: how many records by rule, and some of them with their place and the value that broke it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from account_linking.tables.layout import Layout

MAX_VALUE_CHARACTERS: Final = 60
"""Maximum of a value that is printed. A whole record is never printed: it is the bank's data of one person."""


@dataclass(frozen=True, slots=True)
class RuleCount:
    """How many quarantined records break a rule."""

    rule: str
    field: str
    records: int


@dataclass(frozen=True, slots=True)
class Sample:
    """A quarantined record: its place in Kafka, the first rule that it breaks, and the value."""

    kafka_position: str
    rule: str
    field: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The contents of the quarantine. A record that breaks two rules is counted with both."""

    waiting: int
    replayed: int
    rules: tuple[RuleCount, ...]
    samples: tuple[Sample, ...]

    def lines(self, *, replay: str) -> Iterator[str]:
        """Yield the report, a line at a time. `replay` is the command that applies the rules again."""
        yield f"Records in quarantine: {self.waiting:,}. Moved to their tables since: {self.replayed:,}."
        if not self.waiting:
            return
        width = max((len(each.rule) for each in self.rules), default=4)
        yield ""
        yield f"{'records':>9}  {'rule':<{width}}  field"
        yield from (f"{each.records:>9,}  {each.rule:<{width}}  {each.field}" for each in self.rules)
        yield ""
        yield from (f"{each.kafka_position}  {each.rule}: {each.field} = {each.value}" for each in self.samples)
        yield ""
        yield f"When the rule, its data file or the provider is corrected: {replay}"


def read_quarantine(spark: SparkSession, layout: Layout, *, samples: int, rule: str = "") -> Quarantine:
    """Count the quarantine by rule, and take the newest records as samples; of one rule, where one is given."""
    rows = spark.read.format("delta").load(layout.path("quarantine"))
    waiting = rows.where("replayed_at is null")
    matches = f"'{_name(rule)}' in ('', error.rule)"
    errors = waiting.selectExpr("explode(errors) as error").where(matches)
    counts = errors.groupBy("error.rule", "error.field").count().orderBy("count", "rule", ascending=[False, True])
    return Quarantine(
        waiting=waiting.count(),
        replayed=rows.where("replayed_at is not null").count(),
        rules=tuple(RuleCount(*row) for row in counts.collect()),
        samples=tuple(
            _samples(waiting.selectExpr("*", f"get(filter(errors, error -> {matches}), 0) as error"), samples)
        ),
    )


def _samples(records: DataFrame, count: int) -> Sequence[Sample]:
    """Return the newest records with an `error`. The value may be no valid UTF-8: it is whatever the record had."""
    kafka_position = "concat_ws('-', source_topic, source_partition, source_offset)"
    value = "if(error.field = 'value', null, make_valid_utf8(error.value))"
    rows = (
        records.where("error is not null")
        .orderBy("received_at", "source_topic", "source_offset", ascending=False)
        .limit(count)
        .selectExpr(kafka_position, "error.rule", "error.field", value, "octet_length(value)")
    )
    return [Sample(row[0], row[1], row[2], _shown(*row[2:5])) for row in rows.collect()]


def _shown(field: str, value: str | None, size: int | None) -> str:
    if field == "value":
        return f"a record of {size or 0:,} bytes"
    if value is None:
        return "null"
    text = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in value[:MAX_VALUE_CHARACTERS])
    return (
        f'"{text}"'
        if len(value) <= MAX_VALUE_CHARACTERS
        else f'"{text}" and {len(value) - MAX_VALUE_CHARACTERS:,} more'
    )


def _name(rule: str) -> str:
    """Return a rule's name for SQL: letters and underscores alone."""
    return "".join(each for each in rule if each.isascii() and (each.isalnum() or each == "_"))

"""Clusters that hold many producer ids or run out of heap, and do not leak ids or cannot be told to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bench.production.case import ABSENT, UNKNOWN, DiagnosisCase
from bench.production.ids_cluster import (
    DAY,
    GIB,
    WEEK,
    BrokerHistory,
    Series,
    burst,
    equal_brokers,
    every,
    flat,
    line,
    retained_ids,
    steady,
    with_restarts,
)
from bench.production.ids_heap import BYTES, FETCH_SESSIONS, MANY_PARTITIONS, DominantClass
from bench.production.ids_leaks import FAMILY, PEOPLE, UNEVEN
from bench.production.ids_logs import ERA_3_3, BrokerLog
from bench.production.ids_parts import (
    Part,
    beside,
    collected,
    configured,
    configured_before,
    described,
    died,
    dumped,
    histograms,
    logged,
    ranged,
    scraped,
    topics,
    write,
)
from bench.production.ids_producers import Producers, deployments, fleet, restarted, single_use, together, transactional
from bench.production.ids_settings import WEEK_MILLISECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_LEAK = {"producer_id_leak": ABSENT}
NOT_KNOWN = {"producer_id_leak": UNKNOWN}
NOT_PRESENT: Mapping[str, str] = {}
"""The words UNKNOWN and ABSENT are both right: what is seen neither goes on nor harms anybody."""


def other(
    name: str, form: str, why: str, part: Part, *conditions: str, expected: Mapping[str, str] = NO_LEAK
) -> DiagnosisCase:
    """A case whose producers do not leak."""
    return DiagnosisCase(
        name=f"ids/{name}", family=FAMILY, form=form, why=why, expected=expected, write=part, conditions=conditions
    )


def cases() -> tuple[DiagnosisCase, ...]:
    """All that do not leak."""
    return (
        *_stable(),
        *_stable_by_source(),
        *_growing(),
        *_bursts(),
        *_heap_eaters(),
        *_recovered(),
        *_single_looks(),
    )


def _stable_brokers(number: int = 3) -> tuple[BrokerHistory, ...]:
    return equal_brokers(number, flat(42_000), connections=flat(2400))


def _fleet(number: int = 300) -> Producers:
    return fleet(lambda _hour: number)


def _stable() -> tuple[DiagnosisCase, ...]:
    down = tuple(replace(broker, unseen=((30.1, 39.2),)) for broker in _stable_brokers())
    again = tuple(with_restarts(broker, 20.0 + broker.number, 50.0 + broker.number) for broker in _stable_brokers())
    pools = equal_brokers(3, flat(5200), connections=flat(340))
    return (
        other(
            "stable-fleet",
            "scrapes, describe-producers, kafka-configs",
            "The same 300 producers write batch after batch to the partition, and the count of ids does not move.",
            beside(
                configured(_stable_brokers()),
                described(_fleet(120), every(18)),
                large=scraped(_stable_brokers()),
            ),
        ),
        other(
            "stable-scrapes-missing",
            "scrapes with nine hours missing",
            "The count is the same before and after the collector's silence.",
            scraped(down),
        ),
        other(
            "stable-restarts",
            "scrapes and server.log of brokers that restart",
            "The count falls at each restart and comes back to where it was, no further.",
            write(scraped(again, every(1)), logged(again, BrokerLog())),
            "broker_restarted",
        ),
        other(
            "transactional-pools",
            "describe-producers, scrapes",
            "Transactional producers come back with the same ids and higher epochs; their number stays.",
            beside(scraped(pools, every(2)), large=described(transactional(110), every(6))),
        ),
    )


def _stable_by_source() -> tuple[DiagnosisCase, ...]:
    three = _stable_brokers()
    again = tuple(with_restarts(broker, 13.0 + broker.number, 44.0 + broker.number) for broker in three)
    return (
        other(
            "stable-scrapes-alone",
            "jmx_exporter scrapes of one broker, nothing else",
            "The gauge of producer ids is flat for three days.",
            scraped(_stable_brokers(1), every(0.25)),
        ),
        other(
            "stable-range-alone",
            "answers of query_range",
            "The series of producer ids is flat for three days.",
            ranged(three),
        ),
        other(
            "stable-log-alone",
            "server.log by the hour",
            "Snapshots of a busy topic hold the same 3,500 ids each time, and no block of ids is handed out.",
            logged(three, BrokerLog()),
        ),
        other(
            "stable-histograms-alone",
            "class histograms, ten looks in three days",
            "Entries of producer state stay at 42,000.",
            histograms(three, every(8)),
        ),
        other(
            "stable-describe-producers-alone",
            "describe-producers at uneven times",
            "Every look finds the same ids with higher sequences.",
            described(_fleet(), UNEVEN),
        ),
        other(
            "stable-dumped-snapshots-alone",
            "kafka-dump-log of snapshots, four looks in three days",
            "Every snapshot holds the same ids with higher sequences.",
            dumped(_fleet(), (0.0, 24.0, 48.0, 71.0)),
        ),
        other(
            "stable-kafka-3.3",
            "server.log, class histograms, kafka-configs of Kafka 3.3",
            "Brokers take a block of ids only when they start, and entries of producer state stay at 42,000.",
            beside(
                configured_before(again),
                histograms(again, every(12), version=ERA_3_3),
                large=logged(again, BrokerLog(version=ERA_3_3)),
            ),
            "broker_restarted",
        ),
    )


def _growing() -> tuple[DiagnosisCase, ...]:
    more = equal_brokers(3, line(20_000, 61_000), connections=line(600, 1830))
    small = equal_brokers(3, retained_ids(steady(1200, since=-20), WEEK), connections=flat(PEOPLE), heap_bytes=6 * GIB)
    slow = equal_brokers(3, retained_ids(steady(12, since=-20), WEEK), connections=flat(PEOPLE), heap_bytes=6 * GIB)
    return (
        other(
            "growing-fleet",
            "scrapes, describe-producers",
            "Ids grow in step with connections: more and more live producers, each writing batch after batch.",
            write(scraped(more), described(fleet(lambda hour: 100 + hour * 2.9), every(8))),
        ),
        other(
            "growing-fleet-scrapes-alone",
            "jmx_exporter scrapes",
            "Ids grow threefold and connections with them, 33 ids for each at all times: a fleet that grows.",
            scraped(more),
            expected=NOT_PRESENT,
        ),
        other(
            "slow-and-harmless",
            "scrapes, kafka-configs",
            "A job makes an id every five minutes; seven days of them are half a megabyte of a heap of six gigabytes, "
            "so that the heap never fills.",
            beside(configured(slow, WEEK_MILLISECONDS), large=scraped(slow)),
            expected=NOT_PRESENT,
        ),
        other(
            "slow-500-days",
            "scrapes, kafka-configs",
            "At 1,200 ids an hour the heap fills in 600 days, and ids expire after seven: nobody is harmed.",
            beside(
                configured(small, WEEK_MILLISECONDS),
                large=scraped(small),
            ),
            expected=NOT_PRESENT,
        ),
    )


def _daily(at: float = 10) -> Series:
    """A fleet of 9,000 is deployed each morning; its old ids stay a week and it has done so for months."""
    return lambda hour: flat(9000)(hour) * (8 if (hour - at) % 24 < 0.5 else 7.97)  # noqa: PLR2004 - half an hour of both


def _bursts() -> tuple[DiagnosisCase, ...]:
    once = equal_brokers(3, burst(12_000, 20, DAY), connections=flat(700))
    late = equal_brokers(3, burst(12_000, 68, DAY), connections=flat(700))
    first = equal_brokers(3, _deployed_each_day, connections=flat(700))
    return (
        other(
            "burst-of-a-deployment",
            "scrapes, describe-producers, kafka-configs",
            "A deployment restarts 500 producers once: ids double, stay flat and expire a day later.",
            beside(configured(once), large=write(scraped(once), described(restarted(80, 20), every(8)))),
        ),
        other(
            "burst-scrapes-alone",
            "jmx_exporter scrapes",
            "The count doubles in one step, is flat for a day and falls back: a burst that is over.",
            scraped(once),
        ),
        other(
            "burst-just-before-the-end",
            "jmx_exporter scrapes",
            "The count doubles in one step four hours before the end and is flat since; one step is not growth.",
            scraped(late),
            expected=NOT_PRESENT,
        ),
        other(
            "deployed-every-morning",
            "scrapes, kafka-configs",
            "A fleet deployed each morning leaves a week of old ids behind, as many expiring as coming: flat.",
            beside(
                configured(once, WEEK_MILLISECONDS), large=scraped(equal_brokers(3, _daily(), connections=flat(700)))
            ),
        ),
        other(
            "deployed-three-mornings",
            "scrapes, describe-producers, kafka-configs",
            "Three deployments of a fleet each add one set of ids; each id writes thousands of batches between them.",
            beside(
                configured(first, WEEK_MILLISECONDS),
                large=write(scraped(first), described(deployments(40, (-14, 10, 34, 58)), every(8))),
            ),
            expected=NOT_PRESENT,
        ),
    )


def _deployed_each_day(hour: float) -> float:
    return 9000.0 * (1 + sum(hour >= at for at in (10, 34, 58)))


def _eaten(ids: float, other_heap: Series) -> tuple[BrokerHistory, ...]:
    brokers = equal_brokers(3, flat(ids), connections=flat(700), heap_bytes=GIB)
    return tuple(replace(broker, other_heap=other_heap) for broker in brokers)


def _heap_eaters() -> tuple[DiagnosisCase, ...]:
    full = line(0.05 * GIB, 0.74 * GIB)
    records, sessions, crowded = _eaten(60, full), _eaten(4100, full), _eaten(80_000, flat(0.66 * GIB))
    log = BrokerLog(out_of_memory=(70.4,))
    return (
        other(
            "heap-of-large-records",
            "server.log, class histograms, garbage collector's log",
            "Byte arrays fill the heap until the broker runs out of it; ids hold a ten-thousandth.",
            _out_of_heap(records, log, BYTES),
            "out_of_memory",
        ),
        other(
            "heap-of-fetch-sessions",
            "server.log, class histograms, garbage collector's log",
            "Cached partitions of fetch sessions fill the heap; ids hold a thousandth of it and do not grow.",
            _out_of_heap(sessions, log, FETCH_SESSIONS),
            "out_of_memory",
        ),
        other(
            "heap-of-many-partitions",
            "server.log, class histograms, garbage collector's log",
            "Metrics of too many partitions fill the heap; ids hold two in a hundred and do not grow.",
            _out_of_heap(crowded, log, MANY_PARTITIONS),
            "out_of_memory",
        ),
    )


def _out_of_heap(brokers: tuple[BrokerHistory, ...], log: BrokerLog, dominant: DominantClass) -> Part:
    return write(
        logged(brokers, log),
        beside(collected(brokers[0]), large=histograms(brokers, every(12), dominant=dominant)),
    )


def _recovered() -> tuple[DiagnosisCase, ...]:
    brokers = equal_brokers(3, retained_ids(steady(9000, since=-20, until=52), WEEK), connections=flat(PEOPLE))
    return (
        other(
            "leak-mended-20-hours-ago",
            "scrapes, kafka-configs",
            "The count grew until 20 hours ago and is flat since; the ids remain for a week and nothing adds to them.",
            beside(configured(brokers, WEEK_MILLISECONDS), large=scraped(brokers)),
            expected=NOT_PRESENT,
        ),
        other(
            "leak-mended-describe-producers",
            "describe-producers, ten looks in three days",
            "No single-use id is younger than 20 hours at the end: what made them has stopped.",
            described(together(_fleet(20), single_use(14, WEEK, since=-6, until=52)), every(8)),
            expected=NOT_PRESENT,
        ),
    )


def _single_looks() -> tuple[DiagnosisCase, ...]:
    brokers = equal_brokers(3, flat(60_000), connections=flat(900))
    forty = _eaten(1_430_000, flat(0.37 * GIB))
    hour = 70.0
    return (
        other(
            "one-scrape",
            "one jmx_exporter scrape of each broker",
            "One number of ids tells neither whether it grows nor whether the ids are in use.",
            scraped(brokers, (hour,)),
            expected=NOT_KNOWN,
        ),
        other(
            "one-histogram",
            "one class histogram of each broker",
            "One count of entries tells neither whether it grows nor whether the ids are in use.",
            histograms(equal_brokers(3, flat(300_000), connections=flat(900)), (hour,)),
            expected=NOT_KNOWN,
        ),
        other(
            "one-look-at-a-burst",
            "describe-producers once",
            "All the single-use ids are two hours old or less: a batch job, or a leak that has just begun.",
            described(together(_fleet(40), single_use(260, since=68)), (hour,)),
            expected=NOT_KNOWN,
        ),
        other(
            "heap-rises-uncounted",
            "scrapes of Kafka 3.3, which does not count producer ids",
            "The heap fills in three days and nothing says with what.",
            scraped(_eaten(0, line(0.05 * GIB, 0.7 * GIB)), counted=False),
            expected=NOT_KNOWN,
        ),
        other(
            "topics-only",
            "kafka-topics and kafka-configs only",
            "Neither shows producer ids.",
            beside(configured(brokers), large=topics(1200)),
            expected=NOT_KNOWN,
        ),
        other(
            "out-of-memory-forty-percent-once",
            "one class histogram and the brokers' standard output",
            "Ids hold 40 % of a full heap at one time; nothing says whether they grew or what holds the rest.",
            beside(died(forty[:1], hour), large=histograms(forty, (hour - 0.1,))),
            "out_of_memory",
            expected=NOT_KNOWN,
        ),
    )

"""Clusters whose brokers fill with producer ids that nobody uses again, in every form that telemetry comes in."""

from __future__ import annotations

from dataclasses import replace

from bench.production.case import PRESENT, DiagnosisCase
from bench.production.ids_cluster import (
    DAY,
    GIB,
    WEEK,
    BrokerHistory,
    Series,
    equal_brokers,
    every,
    flat,
    line,
    nightly,
    office_hours,
    retained_ids,
    steady,
    with_restarts,
)
from bench.production.ids_logs import ERA_2_3, ERA_3_3, BrokerLog
from bench.production.ids_parts import (
    HALF_HOURS,
    QUARTERS,
    Part,
    below,
    beside,
    collected,
    configured,
    configured_before,
    described,
    described_by_cron,
    dumped,
    histograms,
    listed,
    logged,
    properties,
    ranged,
    scraped,
    topics,
    write,
)
from bench.production.ids_producers import Producers, fleet, single_use, together
from bench.production.ids_scrapes import CAMEL, NO_RULES
from bench.production.ids_settings import WEEK_MILLISECONDS

FAMILY = "producer ids"
LEAK = {"producer_id_leak": PRESENT}
UNEVEN = (0.0, 0.4, 0.9, 24.3, 58.0, 60.1, 63.5, 67.2, 71.4)
LATE_LOOKS = (44.0, 48.0, 52.0, 58.0, 64.0, 71.0)
SPREAD, ONCE, FLEET = 150, 60, 25  # partitions; ids an hour and live producers on each
PEOPLE = 160.0  # connections of a cluster that a few services write to


def leak(name: str, form: str, why: str, part: Part, *conditions: str) -> DiagnosisCase:
    """A case whose producers leak."""
    return DiagnosisCase(
        name=f"ids/{name}", family=FAMILY, form=form, why=why, expected=LEAK, write=part, conditions=conditions
    )


def cases() -> tuple[DiagnosisCase, ...]:
    """All that leak."""
    return (*_by_rate(), *_by_source(), *_by_looks(), *_by_version(), *_by_cluster(), *_to_the_end())


def _brokers(
    rate: Series, expiration_hours: float = WEEK, number: int = 3, live: float = 300
) -> tuple[BrokerHistory, ...]:
    return equal_brokers(number, retained_ids(rate, expiration_hours, live), connections=flat(PEOPLE))


def _spread(since: float, expiration_hours: float = WEEK) -> tuple[BrokerHistory, ...]:
    """The brokers of `ONCE`: its ids come on each of 150 partitions."""
    return _brokers(steady(SPREAD * ONCE, since=since), expiration_hours, live=SPREAD * FLEET)


def _once(since: float, expiration_hours: float = WEEK) -> Producers:
    return together(fleet(lambda _hour: FLEET), single_use(ONCE, expiration_hours, since=since))


def _steady(number: int = 3) -> tuple[BrokerHistory, ...]:
    return _brokers(steady(9000, since=-20), number=number)


def _by_rate() -> tuple[DiagnosisCase, ...]:
    office, night = _brokers(office_hours(30_000)), _brokers(nightly(160_000))
    young = _brokers(steady(45_000, since=52.2), DAY)
    return (
        leak(
            "leak-steady",
            "three days of jmx_exporter scrapes, kafka-configs, kafka-topics",
            "Brokers hold nine thousand ids more every hour for three days while 160 connections stay 160.",
            beside(configured(_steady(), WEEK_MILLISECONDS), topics(), large=scraped(_steady())),
        ),
        leak(
            "leak-first-day-default-expiration",
            "three days of jmx_exporter scrapes, kafka-configs",
            "A deployment starts to make 45,000 ids an hour 20 hours before the end; connections stay as many.",
            beside(configured(young), large=scraped(young)),
        ),
        leak(
            "leak-office-hours",
            "three days of jmx_exporter scrapes, kafka-configs",
            "Ids climb by 300,000 each working day, never fall, and connections stay the same.",
            beside(configured(office, WEEK_MILLISECONDS), large=scraped(office)),
        ),
        leak(
            "leak-nightly-job",
            "three days of jmx_exporter scrapes, kafka-configs",
            "A job makes 240,000 new ids each night, brokers keep them for a week, and each night adds as many again.",
            beside(configured(night, WEEK_MILLISECONDS), large=scraped(night)),
        ),
    )


def _by_source() -> tuple[DiagnosisCase, ...]:
    one, three = _steady(1), _steady()
    log = BrokerLog(new_ids=4800)
    return (
        *_by_dump(),
        leak(
            "leak-scrapes-alone",
            "jmx_exporter scrapes of one broker, nothing else",
            "The gauge of producer ids rises evenly by 9,000 an hour for three days; connections stay as many.",
            scraped(one, QUARTERS),
        ),
        leak(
            "leak-scrapes-without-rules",
            "scrapes of jmx_exporter without rules, all brokers in one folder",
            "The gauge rises evenly for three days on each broker, whatever the exporter calls it.",
            scraped(three, naming=NO_RULES, by_broker=False),
        ),
        leak(
            "leak-scrapes-with-capitals",
            "scrapes whose metric names keep their capitals, times in file names only",
            "The gauge rises evenly for three days at a constant number of connections.",
            scraped(one, naming=CAMEL, by_broker=False),
        ),
        leak(
            "leak-range-alone",
            "answers of query_range",
            "The series of producer ids rises evenly for three days while connections stay flat.",
            ranged(three),
        ),
        leak(
            "leak-log-alone",
            "server.log by the hour",
            "Each producer snapshot of one topic holds more ids than the last, from 15,000 to 70,000 a partition, and "
            "the controller hands out block after block.",
            logged(three, log),
        ),
        leak(
            "leak-histograms-alone",
            "class histograms, ten looks in three days",
            "Entries of producer state grow evenly from 180,000 to 830,000 in three days, as no fleet does.",
            histograms(three, every(8)),
        ),
    )


def _by_dump() -> tuple[DiagnosisCase, ...]:
    once = _once(46)
    return (
        leak(
            "leak-describe-producers-alone",
            "kafka-transactions.sh describe-producers, six looks in a day",
            "Each look finds new ids that wrote one batch and never again, and the old ones are still held.",
            described(once, LATE_LOOKS),
        ),
        leak(
            "leak-describe-producers-by-cron",
            "describe-producers appended to one file by cron",
            "Each look finds new ids that wrote one batch and never again, and the old ones are still held.",
            described_by_cron(once, LATE_LOOKS),
        ),
        leak(
            "leak-dumped-snapshots-alone",
            "kafka-dump-log of snapshots, four looks in a day",
            "Each snapshot holds more ids than the last, nearly all of them with a single batch long ago.",
            dumped(single_use(40, WEEK, since=46), (48.0, 56.0, 64.0, 71.0)),
        ),
    )


def _by_looks() -> tuple[DiagnosisCase, ...]:
    once = _once(56)
    missed = tuple(replace(broker, unseen=((30.1, 39.2),)) for broker in _steady())
    plateau = _brokers(steady(15 * 1184), DAY, live=15 * 1184)
    return (
        leak(
            "leak-uneven-looks",
            "describe-producers at uneven times",
            "Four early looks find the fleet; five later ones each find new single-use ids beside all the old ones.",
            described(once, UNEVEN),
        ),
        leak(
            "leak-uneven-histograms",
            "class histograms at uneven times",
            "Entries of producer state grow at the same rate between any two looks, near or far apart.",
            histograms(_steady(), UNEVEN),
        ),
        leak(
            "leak-one-look-that-proves-it",
            "describe-producers once, default expiration",
            "One look holds 1,440 ids that came evenly over the last day, wrote one batch each and never again, beside "
            "25 that are in use.",
            beside(configured(_spread(-40, DAY)), large=described(_once(-40, DAY), (70.0,))),
        ),
        leak(
            "leak-early-look",
            "scrapes of three days and one of nine days before",
            "The early scrape shows the few ids before the leak; the last three days show it growing.",
            scraped(_steady(1), (-216.0, *HALF_HOURS)),
        ),
        leak(
            "leak-scrapes-missing",
            "scrapes with nine hours missing",
            "Before and after the collector's nine hours of silence the count rises at the same rate.",
            scraped(missed),
        ),
        leak(
            "leak-at-its-plateau",
            "describe-producers and scrapes, default expiration",
            "The count is flat because as many ids expire as come; a look a day later finds none of the day before's "
            "ids but new ones that wrote a batch each.",
            beside(
                configured(plateau),
                scraped(plateau[:1], every(6)),
                large=described(together(fleet(lambda _hour: 15), single_use(15, DAY)), every(12)),
            ),
        ),
    )


def _by_version() -> tuple[DiagnosisCase, ...]:
    old = _steady()
    week, day = _steady(), _spread(50, DAY)
    return (
        leak(
            "leak-kafka-2.3",
            "server.log, class histograms, server.properties of Kafka 2.3",
            "Entries of producer state grow for three days and the id manager takes three blocks an hour.",
            write(
                beside(
                    properties(old[0], "log.retention.hours=720", "inter.broker.protocol.version=2.3"),
                    large=logged(old, BrokerLog(version=ERA_2_3, new_ids=9000)),
                ),
                histograms(old, every(12), version=ERA_3_3),
            ),
        ),
        leak(
            "leak-kafka-3.3",
            "server.log, class histograms, kafka-configs of Kafka 3.3",
            "Snapshots and histograms count more ids every hour, and ids stay for seven days in this version.",
            beside(
                configured_before(week),
                histograms(week, every(12), version=ERA_3_3),
                large=logged(week, BrokerLog(version=ERA_3_3, new_ids=4800)),
            ),
        ),
        leak(
            "leak-kafka-3.7",
            "server.log, scrapes, describe-producers, kafka-configs of Kafka 3.7",
            "Ids of a single batch come by the thousand since a deployment 22 hours before the end.",
            beside(
                configured(day),
                scraped(day[:1], every(2)),
                described(_once(50, DAY), (48.0, 54.0, 60.0, 71.0)),
                large=logged(day, BrokerLog(new_ids=2200, leaks=(50, 1e9), partitions=SPREAD)),
            ),
        ),
    )


def _by_cluster() -> tuple[DiagnosisCase, ...]:
    well = equal_brokers(3, flat(14_000), connections=flat(520))
    restarted = tuple(
        with_restarts(broker, 11.0 + broker.number, 40.0 + broker.number, 61.0 + broker.number) for broker in _steady()
    )
    return (
        leak(
            "leak-one-topic-of-400",
            "kafka-topics, server.log, describe-producers of the topic and of two others",
            "One topic of 400 holds all the ids that grow; the others hold the same few.",
            beside(
                topics(400),
                described(_once(46), (44.0, 54.0, 71.0)),
                described(fleet(lambda _hour: 6), every(18), "ledger.created.v1"),
                described(fleet(lambda _hour: 9), every(18), "fraud.audit.v1"),
                large=logged(_spread(46), BrokerLog(new_ids=2200, leaks=(46, 1e9), partitions=SPREAD)),
            ),
        ),
        leak(
            "leak-six-brokers",
            "scrapes of six brokers, listings of snapshots",
            "The count grows on each of six brokers at the same rate.",
            beside(listed(_steady()[0], every(12)), large=scraped(_steady(6), every(1))),
        ),
        leak(
            "leak-restarts",
            "scrapes and server.log of brokers that restart three times",
            "A restart empties the count for minutes only: brokers reload ids from snapshots, and the growth goes on.",
            write(scraped(restarted, every(1)), logged(restarted, BrokerLog(new_ids=4800))),
            "broker_restarted",
        ),
        leak(
            "leak-one-of-two-clusters",
            "scrapes of two clusters in one folder",
            "The brokers of one cluster grow by 9,000 ids an hour; the other's stay at 14,000.",
            write(below("orchid", scraped(_steady(), every(1))), below("larch", scraped(well, every(1)))),
        ),
    )


def _to_the_end() -> tuple[DiagnosisCase, ...]:
    until = 34.0
    rate, full = steady(95_000, since=-6, until=27.3), steady(5000, since=27.3, until=until)
    growing = retained_ids(lambda hour: rate(hour) + full(hour), WEEK)

    def ids(hour: float) -> float:
        return growing(hour) if hour < until + 1 else 900 + line(500, 0)(hour - until)

    out = (27.2, 30.1, 33.3)
    brokers = tuple(
        with_restarts(broker, *(at + 0.05 + broker.number * 0.02 for at in out))
        for broker in equal_brokers(3, ids, connections=flat(PEOPLE), heap_bytes=GIB)
    )
    log = BrokerLog(new_ids=48_000, leaks=(0, until), out_of_memory=out)
    return (
        leak(
            "leak-to-out-of-memory-then-mended",
            "server.log, garbage collector's log and scrapes of three brokers",
            "Ids fill the heap until three brokers run out of memory, restarts reload them and brokers run out again, "
            "and all is well when the ids are gone.",
            write(scraped(brokers, every(1)), collected(brokers[0]), logged(brokers, log)),
            "out_of_memory",
            "broker_restarted",
        ),
    )

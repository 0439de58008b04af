"""Alerts on a broker's live heap: nearly full, or full within days at its present growth."""

from datetime import timedelta

from leadsman.modes.producer_id_leak.broker_versions import JAVA_BYTES
from leadsman.modes.producer_id_leak.thresholds import FULL_SHARE, OOM_SHARE
from leadsman.prevent.alerts.alert import TEN_MINUTES, Alert, Case, Owner, Severity, Threshold

BY = "by (cluster, job, instance)"
DAYS = 4
"""A leak of weeks must not fill a heap over a long weekend: all brokers of the incident ran full within one weekend."""

RECORDINGS = {
    "leadsman:heap_after_collection:share": (
        f"sum {BY} (leadsman:heap_after_collection) / sum {BY} (leadsman:heap_limit)"
    ),
}
LIMIT = "400000000+0x800"
COMMAND = "leadsman collect jvm --out CAPTURE && leadsman diagnose CAPTURE"
SHARE = "{{ $value | humanizePercentage }}"


def _heap(values: str) -> dict[str, str]:
    return {
        'heap_after_collection{instance="broker-1:9404",job="kafka",pool="G1 Old Gen"}': values,
        'heap_limit{instance="broker-1:9404",job="kafka"}': LIMIT,
    }


def _ids(values: str) -> dict[str, str]:
    return {
        'producer_ids{instance="broker-1:9404",job="kafka"}': values,
        'heap_limit{instance="broker-1:9404",job="kafka"}': LIMIT,
    }


ALERTS = (
    Alert(
        name="KafkaBrokerHeapNearlyFull",
        summary=f"Live data fill {SHARE} of the heap of {{{{ $labels.instance }}}}",
        recordings=RECORDINGS,
        expression="leadsman:heap_after_collection:share >= $full_share",
        signals=("heap_after_collection", "heap_limit"),
        thresholds=(
            Threshold(
                name="full_share", value=FULL_SHARE, why="the detector's limit: above it collections follow one another"
            ),
        ),
        for_duration=timedelta(minutes=5),
        why_for_duration="Large requests may live through one collection, not through those of five minutes.",
        severity=Severity.PAGE,
        owner=Owner.BROKERS,
        meaning="What the last collection left in the heap is most of it; an OutOfMemoryError is near.",
        action="Take a class histogram: it shows what fills the heap. Where it is producer ids, free them.",
        command=COMMAND,
        cases=(
            Case(
                name="broken: ids fill the heap", series=_heap("290000000+0x400"), firing=1, why="38 MB of ids in 88 MB"
            ),
            Case(name="cured: the ids were freed", series=_heap("290000000+0x60 80000000+0x400"), firing=0, at="2h"),
            Case(
                name="near miss: a burst of big records",
                series=_heap("80000000+0x30 290000000+0x3 80000000+0x400"),
                firing=0,
                at="34m",
                why="requests in flight survive a collection or two",
            ),
        ),
    ),
    Alert(
        name="KafkaProducerIdsFillHeap",
        summary=f"Producer ids take {SHARE} of the heap of {{{{ $labels.instance }}}}",
        recordings={
            "leadsman:producer_ids:heap_share": (
                f"sum {BY} (leadsman:producer_ids) * $bytes_per_id / sum {BY} (leadsman:heap_limit)"
            )
        },
        expression="leadsman:producer_ids:heap_share >= $oom_share",
        signals=("producer_ids", "heap_limit"),
        thresholds=(
            Threshold(name="oom_share", value=OOM_SHARE, why="the detector's limit: such ids help to fill it"),
            Threshold(name="bytes_per_id", value=JAVA_BYTES, why="measured on a million ids, brokers 3.5 and newer"),
        ),
        for_duration=timedelta(minutes=5),
        why_for_duration="Ids do not go by themselves within minutes.",
        severity=Severity.TICKET,
        owner=Owner.BROKERS,
        meaning="Ids of producers take a tenth of the heap or more, whether or not they still grow.",
        action="Find the service that makes them; free the ids by lowering their expiry.",
        command="leadsman remedy producer_id_leak --bootstrap HOST:9092",
        cases=(
            Case(name="broken: the recorded leak", series=_ids("160000+0x400"), firing=1, why="42 MB of 400 MB"),
            Case(name="cured: the ids expired", series=_ids("160000+0x60 500+0x400"), firing=0, at="2h"),
            Case(name="near miss: a large, stable fleet", series=_ids("20000+0x400"), firing=0, why="5 MB of 400 MB"),
        ),
    ),
    Alert(
        name="KafkaBrokerHeapFullWithinDays",
        summary="At its present growth the heap of {{ $labels.instance }} is full within 4 days",
        recordings=RECORDINGS,
        expression=(
            "predict_linear(leadsman:heap_after_collection:share[6h], $days * 86400) >= 1"
            " and leadsman:heap_after_collection:share > leadsman:heap_after_collection:share offset 1h"
            " and leadsman:heap_after_collection:share offset 1h > leadsman:heap_after_collection:share offset 3h"
        ),
        signals=("heap_after_collection", "heap_limit"),
        thresholds=(
            Threshold(name="days", value=DAYS, why="a long weekend, in which the incident's brokers ran full"),
        ),
        for_duration=timedelta(hours=1),
        why_for_duration="A cache that fills after a restart levels off within hours.",
        severity=Severity.TICKET,
        owner=Owner.BROKERS,
        meaning="What collections leave in the heap grows steadily, and reaches the limit within days.",
        action="Take two class histograms an hour apart: the class that grows is the cause.",
        command=COMMAND,
        misses="Slower growth, and heaps whose old generation is collected less than hourly.",
        cases=(
            Case(
                name="broken: the heap grows by 1 % of its limit an hour",
                series=_heap("200000000+660000x70"),
                firing=1,
                at="9h",
                interval=TEN_MINUTES,
                why="at 4 MB an hour 400 MB are full in 2 days",
            ),
            Case(
                name="cured: the growth has ended",
                series=_heap("200000000+660000x30 219800000+0x70"),
                firing=0,
                at="11h",
                interval=TEN_MINUTES,
            ),
            Case(
                name="near miss: a cache fills after a restart",
                series=_heap("40000000+4000000x6 64000000+0x70"),
                firing=0,
                at="8h",
                interval=TEN_MINUTES,
                why="a broker's caches level off",
            ),
        ),
    ),
)

"""Alerts on the number of producer ids that a broker keeps: new ids keep coming."""

from datetime import timedelta

from leadsman.modes.producer_id_leak.thresholds import MIN_IDS, MIN_IDS_PER_HOUR
from leadsman.prevent.alerts.alert import Alert, Case, Owner, Severity, Threshold

FLEET = "500+0x20 500+50x10 1000+0x60"
"""A deployment of 500 producers: each of them takes one id, within ten minutes, and then no more come."""

ALERTS = (
    Alert(
        name="KafkaProducerIdsKeepGrowing",
        summary="{{ $labels.instance }} gets {{ $value | humanize }} more producer ids per hour",
        recordings={"leadsman:producer_ids:per_hour": "deriv(leadsman:producer_ids[5m]) * 3600"},
        expression=(
            "min_over_time(leadsman:producer_ids:per_hour[30m]) >= $min_ids_per_hour"
            " and leadsman:producer_ids:per_hour offset 30m"
            " and leadsman:producer_ids >= $min_ids"
        ),
        signals=("producer_ids",),
        thresholds=(
            Threshold(
                name="min_ids_per_hour",
                value=MIN_IDS_PER_HOUR,
                why="the detector's limit, a cron job's rate",
            ),
            Threshold(name="min_ids", value=MIN_IDS, why="the detector's limit: fewer belong to a handful of services"),
        ),
        for_duration=timedelta(0),
        why_for_duration="The lowest rate of half an hour counts: a deployment, or a batch job, ends within that time.",
        severity=Severity.TICKET,
        owner=Owner.BROKERS,
        meaning="New producer ids keep coming: a service creates a producer for each record, or for a few.",
        action="Find the service (topics whose ids sent one batch each), let it keep one producer, then free the ids.",
        command="leadsman remedy producer_id_leak --bootstrap HOST:9092",
        misses="A leak whose ids expire as fast as they come is level, and silent; it fills no heap.",
        cases=(
            Case(
                name="broken: two ids a minute, for as long as the leak runs",
                series={'producer_ids{instance="broker-1:9404"}': "100+2x120"},
                firing=1,
                why="the scenario's leak at a hundredth of its rate",
            ),
            Case(
                name="cured: the service keeps one producer, the ids stay",
                series={'producer_ids{instance="broker-1:9404"}': "100+2x60 220+0x120"},
                firing=0,
                at="2h",
                why="the scenario's variant cured_late",
            ),
            Case(
                name="near miss: a deployment of a fleet",
                series={'producer_ids{instance="broker-1:9404"}': FLEET},
                firing=0,
                at="35m",
                why="each producer of a fleet takes one id; the count steps up once",
            ),
            Case(
                name="near miss: producers that use their ids again",
                series={'producer_ids{instance="broker-1:9404"}': "578+0x120"},
                firing=0,
                why="a stable fleet: 578 ids, flat over a restart",
            ),
        ),
    ),
)

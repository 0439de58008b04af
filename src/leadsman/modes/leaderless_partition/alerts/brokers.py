"""Alerts on brokers that are lost: unreachable, fenced, or back without leading anything; and on elections."""

from datetime import timedelta

from leadsman.prevent.alerts.alert import Alert, Case, Owner, Severity

BALANCE = "leader.imbalance.check.interval.seconds is 300 by default, so leaders are back after two checks"
COLLECT = "leadsman collect kafka --bootstrap HOST:9092 --out CAPTURE && leadsman diagnose CAPTURE"
UP = 'up{instance="broker-3:9404",job="kafka"}'
LED = 'leaders{instance="broker-3:9404",job="kafka"}'

ALERTS = (
    Alert(
        name="KafkaBrokerUnreachable",
        summary="Broker {{ $labels.instance }} has not answered Prometheus for a minute",
        expression="up == 0 and on (job, instance) last_over_time(leadsman:leaders[1h])",
        signals=("leaders",),
        for_duration=timedelta(minutes=1),
        why_for_duration="A broker restarts within a minute where its log is clean; four scrapes of 15 s.",
        severity=Severity.TICKET,
        owner=Owner.BROKERS,
        meaning="A broker that led partitions within the last hour cannot be scraped.",
        action="Look for maintenance of its host, its process, and its log's last lines.",
        command="leadsman collect cloud --out CAPTURE && leadsman diagnose CAPTURE",
        cases=(
            Case(name="broken", series={UP: "1+0x20 0+0x60", LED: "20+0x20 _x60"}, firing=1, at="30m"),
            Case(name="cured", series={UP: "1+0x20 0+0x10 1+0x60", LED: "20+0x20 _x10 20+0x60"}, firing=0, at="40m"),
            Case(
                name="near miss: a program that is no broker ends",
                series={'up{instance="shop:8080",job="shop"}': "1+0x20 0+0x60"},
                firing=0,
            ),
        ),
    ),
    Alert(
        name="KafkaBrokerFenced",
        summary="{{ $value }} registered brokers are fenced",
        expression="max by (cluster) (leadsman:fenced_brokers) > 0",
        signals=("fenced_brokers",),
        for_duration=timedelta(minutes=5),
        why_for_duration="A broker is fenced while it restarts: seconds after a clean stop, minutes with log recovery.",
        severity=Severity.TICKET,
        owner=Owner.BROKERS,
        meaning="The controller takes these brokers for dead: they lead nothing, whatever their own dashboard shows.",
        action="Start them, or unregister them. One that runs and is fenced cannot reach the controller.",
        command=COLLECT,
        symptom_of=("KafkaBrokerUnreachable",),
        cases=(
            Case(name="broken", series={'fenced_brokers{instance="c"}': "0+0x20 1+0x60"}, firing=1, at="40m"),
            Case(name="cured", series={'fenced_brokers{instance="c"}': "0+0x20 1+0x10 0+0x60"}, firing=0, at="40m"),
            Case(name="near miss: a restart", series={'fenced_brokers{instance="c"}': "0+0x20 1+0x2 0+0x60"}, firing=0),
        ),
    ),
    Alert(
        name="KafkaBrokerLeadsNothing",
        summary="Broker {{ $labels.instance }} leads no partition, others do",
        expression="leadsman:leaders == 0 and on (cluster) (sum by (cluster) (leadsman:leaders) > 0)",
        signals=("leaders",),
        for_duration=timedelta(minutes=10),
        why_for_duration=BALANCE,
        severity=Severity.TICKET,
        owner=Owner.BROKERS,
        meaning="A broker is back but idle: the others do its work, and the next failure is larger.",
        action="See whether auto.leader.rebalance.enable is off, or the broker's replicas are not in sync.",
        command=COLLECT,
        symptom_of=("KafkaPartitionsWithoutReachableLeader",),
        cases=(
            Case(
                name="broken",
                series={LED: "0+0x60", 'leaders{instance="broker-1:9404",job="kafka"}': "40+0x60"},
                firing=1,
            ),
            Case(
                name="cured",
                series={LED: "0+0x30 20+0x60", 'leaders{instance="broker-1:9404",job="kafka"}': "40+0x30 20+0x60"},
                firing=0,
            ),
            Case(
                name="near miss: a restart, and leaders return at the next check",
                series={LED: "20+0x20 0+0x6 20+0x60", 'leaders{instance="broker-1:9404",job="kafka"}': "40+0x60"},
                firing=0,
                at="26m",
            ),
        ),
    ),
    Alert(
        name="KafkaUncleanElection",
        summary="A replica that was not in sync became leader: acknowledged records are lost",
        expression="sum by (cluster) (increase(leadsman:unclean_elections[10m])) > 0",
        signals=("unclean_elections",),
        for_duration=timedelta(0),
        why_for_duration="One is too many.",
        severity=Severity.PAGE,
        owner=Owner.BROKERS,
        meaning="By unclean.leader.election.enable, by an operator, or because the last leader had crashed (Kafka 4).",
        action="Keep the old leader's data folder: the lost records are there alone.",
        command=COLLECT,
        misses="An election before the first scrape of a controller that has just started.",
        cases=(
            Case(name="broken", series={'unclean_elections{instance="c"}': "0+0x20 1+0x60"}, firing=1, at="25m"),
            Case(name="cured", series={'unclean_elections{instance="c"}': "0+0x20 1+0x60"}, firing=0, at="40m"),
            Case(name="near miss: orderly elections", series={'unclean_elections{instance="c"}': "0+0x60"}, firing=0),
        ),
    ),
    Alert(
        name="KafkaLeadersElected",
        summary="Leaders were elected {{ $value | humanize }} times within 10 minutes",
        expression="sum by (cluster) (increase(leadsman:elections[10m])) > 0",
        signals=("elections",),
        for_duration=timedelta(0),
        why_for_duration="It sends nothing: it is context for the alerts beside it.",
        severity=Severity.INFO,
        owner=Owner.BROKERS,
        meaning="The controller moved leaders. After a restart in order this is as it should be.",
        action="Compare with deployments and with the alerts on leaders.",
        command=COLLECT,
        misses="Clusters without ZooKeeper: KRaft does not register the metric. See KafkaBrokerFenced there.",
        cases=(
            Case(name="broken", series={'elections{instance="c"}': "0+0x20 1+0x60"}, firing=1, at="25m"),
            Case(name="cured", series={'elections{instance="c"}': "0+0x20 1+0x60"}, firing=0, at="40m"),
            Case(name="near miss: nothing moves", series={'elections{instance="c"}': "5+0x60"}, firing=0),
        ),
    ),
)

"""Alerts on partitions that no broker leads: by the controller's count, and by the brokers' own counts.

In the incident the controller's count stayed at zero: metadata went on naming the dead broker as leader. The brokers'
own counts show it: what all reachable brokers lead together is less than what there is.
"""

from datetime import timedelta

from leadsman.kafka_defaults import seconds
from leadsman.modes.leaderless_partition.thresholds import MIN_LEADERLESS_SECONDS
from leadsman.prevent.alerts.alert import Alert, Case, Owner, Severity

COLLECT = "leadsman collect kafka --bootstrap HOST:9092 --out CAPTURE && leadsman diagnose CAPTURE"
HOLDS = timedelta(seconds=15)
EARLY = (
    f"Orderly changes of leader take less than {MIN_LEADERLESS_SECONDS:g} s (the detector's limit), and commits time "
    f"out after {seconds('consumer', 'default.api.timeout.ms'):g} s by default."
)
ALERTS = (
    Alert(
        name="KafkaPartitionsWithoutReachableLeader",
        summary="{{ $value }} partitions are led by no broker that can be reached",
        recordings={"leadsman:partitions:leaderless": "leadsman:partitions - leadsman:led_partitions"},
        expression="leadsman:partitions:leaderless > 0",
        signals=("partitions", "led_partitions"),
        for_duration=HOLDS,
        why_for_duration=f"{EARLY} So 15 s, the interval of scrapes, are both late enough and early enough.",
        severity=Severity.PAGE,
        owner=Owner.BROKERS,
        meaning="Reachable brokers lead fewer partitions than there are: commits and requests to the others wait.",
        action="Find the broker that is gone. Do not wait for fencing: stop it for good, or start it.",
        command=COLLECT,
        misses="Brokers that Prometheus cannot scrape look gone, though clients may reach them. A broker that died and "
        "was fenced within two scrapes is not seen.",
        cases=(
            Case(
                name="broken: a broker is killed, and the controller has not fenced it",
                series={"partitions{}": "60+0x120", "led_partitions{}": "60+0x20 40+0x100"},
                firing=1,
                at="22m",
                why="the scenario: for 20 s at lab scale, for minutes in production",
            ),
            Case(
                name="cured: other brokers lead its partitions",
                series={"partitions{}": "60+0x120", "led_partitions{}": "60+0x20 40+0x3 60+0x100"},
                firing=0,
                at="30m",
            ),
            Case(
                name="near miss: a broker is restarted in order",
                series={"partitions{}": "60+0x120", "led_partitions{}": "60+0x120"},
                firing=0,
                at="22m",
                why="a controlled shutdown moves the leaders first",
            ),
            Case(
                name="near miss: a new topic, counted by the controller before its leaders are",
                series={"partitions{}": "60+0x20 66+0x100", "led_partitions{}": "60+0x21 66+0x100"},
                firing=0,
                at="22m",
            ),
        ),
    ),
    Alert(
        name="KafkaPartitionsOffline",
        summary="{{ $value }} partitions have no leader",
        expression="max by (cluster) (leadsman:offline_partitions) > 0",
        signals=("offline_partitions",),
        for_duration=HOLDS,
        why_for_duration=EARLY,
        severity=Severity.PAGE,
        owner=Owner.BROKERS,
        meaning="No in-sync replica of these partitions is alive: they can be neither read nor written.",
        action="Start the broker that led them last. An unclean election loses records.",
        command=COLLECT,
        misses="A dead broker that the controller has not fenced yet: its partitions do not count as offline.",
        cases=(
            Case(
                name="broken: no replica is left",
                series={'offline_partitions{instance="c"}': "0+0x20 6+0x60"},
                firing=1,
            ),
            Case(name="cured", series={'offline_partitions{instance="c"}': "0+0x20 6+0x10 0+0x60"}, firing=0),
            Case(name="near miss: a rolling restart", series={'offline_partitions{instance="c"}': "0+0x90"}, firing=0),
        ),
    ),
)

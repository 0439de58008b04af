"""Alerts on the number of topics and partitions: it keeps growing, as where a service creates a topic for each job."""

from datetime import timedelta

from leadsman.prevent.alerts.alert import TEN_MINUTES, Alert, Case, Owner, Severity, Threshold

GROWTH = (
    Threshold(
        name="share", value=0.2, why="a fifth more in a day: what a quarter of new services adds comes within a day"
    ),
    Threshold(name="min", value=50, why="as few as a single new service with its retry topics can bring"),
)


def _growth(signal: str, title: str) -> Alert:
    now, then = f"leadsman:{signal}", f"leadsman:{signal} offset 1d"
    return Alert(
        name=title,
        summary=f"{{{{ $value | humanize }}}} {signal} more than a day ago",
        expression=f"({now} - {then} > $min) and ({now} > (1 + $share) * {then}) and ({now} > {now} offset 1h)",
        signals=(signal,),
        thresholds=GROWTH,
        for_duration=timedelta(hours=1),
        why_for_duration="A deployment that creates many topics ends within the hour; what goes on creating does not.",
        severity=Severity.TICKET,
        owner=Owner.BROKERS,
        meaning=f"The number of {signal} keeps growing. Each costs heap in every broker and time in every failover.",
        action="Find who creates them: their names, and the clients in the controller's log. Delete what is not used.",
        command="leadsman collect kafka --bootstrap HOST:9092 --out CAPTURE && leadsman diagnose CAPTURE",
        misses="Growth that is slower than a fifth a day.",
        cases=(
            Case(
                name="broken", series={f"{signal}{{}}": "200+0x144 200+20x30"}, firing=1, at="29h", interval=TEN_MINUTES
            ),
            Case(
                name="cured",
                series={f"{signal}{{}}": "200+0x144 200+20x15 500+0x30"},
                firing=0,
                at="30h",
                interval=TEN_MINUTES,
            ),
            Case(
                name="near miss: one deployment",
                series={f"{signal}{{}}": "200+0x144 300+0x60"},
                firing=0,
                at="26h",
                interval=TEN_MINUTES,
                why="a new service creates its topics once",
            ),
        ),
    )


ALERTS = (_growth("topics", "KafkaTopicsKeepGrowing"), _growth("partitions", "KafkaPartitionsKeepGrowing"))

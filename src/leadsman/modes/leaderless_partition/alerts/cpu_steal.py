"""An alert on the cause in the cloud: a host whose hypervisor gives its CPU time to others, as in a live migration."""

from datetime import timedelta

from leadsman.modes.leaderless_partition.thresholds import STEAL_FACTOR, STEAL_SHARE, USUAL_SECONDS
from leadsman.prevent.alerts.alert import Alert, Case, Owner, Severity, Threshold

STEAL = 'cpu_steal{instance="broker-3:9100",cpu="0"}'

ALERTS = (
    Alert(
        name="HostCpuSteal",
        summary="The hypervisor takes {{ $value | humanizePercentage }} of the CPU time of {{ $labels.instance }}",
        recordings={"leadsman:cpu_steal:share": "avg by (cluster, job, instance) (rate(leadsman:cpu_steal[2m]))"},
        expression=(
            "leadsman:cpu_steal:share >= $share and leadsman:cpu_steal:share >="
            f" $factor * avg_over_time(leadsman:cpu_steal:share[{USUAL_SECONDS:.0f}s] offset 2m)"
        ),
        signals=("cpu_steal",),
        thresholds=(
            Threshold(name="share", value=STEAL_SHARE, why="the detector's limit"),
            Threshold(
                name="factor", value=STEAL_FACTOR, why="the detector's limit: a constant steal is no maintenance"
            ),
        ),
        for_duration=timedelta(0),
        why_for_duration="A live migration takes less than a minute, and the rate covers two.",
        severity=Severity.TICKET,
        owner=Owner.HOSTS,
        meaning="Much more steal than five minutes before: maintenance of the host, or a noisy neighbour.",
        action="Look for maintenance events; for brokers prefer termination and restart to live migration.",
        command="leadsman collect cloud --out CAPTURE && leadsman diagnose CAPTURE",
        misses="A host that is frozen altogether: it reports nothing until it is back.",
        cases=(
            Case(name="broken", series={STEAL: "0+0.1x30 3+15x60"}, firing=1, at="33m"),
            Case(name="cured", series={STEAL: "0+0.1x30 3+15x5 78+0.1x60"}, firing=0, at="50m"),
            Case(name="near miss: constant steal", series={STEAL: "0+9x90"}, firing=0, why="a small shared instance"),
        ),
    ),
)

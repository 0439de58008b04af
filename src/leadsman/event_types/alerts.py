"""What monitoring systems report."""

from leadsman import vocabulary as names
from leadsman.event_types.definition import EventType

LABELS = {
    "alert": "the alert's name",
    "severity": "",
    "instance": "what it is about",
    "job": "the job of that in Prometheus",
    "cluster": "the cluster, as the alert names it",
}

EVENTS = (
    EventType(names.ALERT_FIRING, "An alert of Prometheus began to fire.", labels=LABELS),
    EventType(names.ALERT_RESOLVED, "An alert of Prometheus ended.", labels=LABELS),
)

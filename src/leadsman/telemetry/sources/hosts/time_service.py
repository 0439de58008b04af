"""Clock jumps that chronyd, ntpd and systemd log, such as after a host was paused."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

SOURCE = Source(
    "time_service",
    "Time service",
    "state",
    (
        Signature(v.CLOCK_JUMPED, r"chronyd\[\d+\]: Forward time jump detected!"),
        Signature(v.CLOCK_JUMPED, r"chronyd\[\d+\]: System clock wrong by (?P<value>\d+\.\d+) seconds"),
        Signature(v.CLOCK_JUMPED, r"ntpd\[\d+\]: time reset \+(?P<value>\d+\.\d+) s\b"),
        Signature(v.CLOCK_JUMPED, r"systemd-resolved\[\d+\]: Clock change detected\. Flushing caches\."),
    ),
)

"""What hosts, kernels and clouds log."""

from leadsman import vocabulary as names
from leadsman.event_types.definition import EventType

EVENTS = (
    EventType(
        names.HOST_MAINTENANCE,
        "A cloud moved, stopped or restarted a host.",
        labels={
            "host": "the host's name",
            "provider": "the cloud",
            "action": "migrate, terminate, restart, error or notice",
        },
    ),
    EventType(
        names.CLOCK_JUMPED,
        "A host's clock jumped, or its processors had been stopped.",
        value="by how much",
        unit="seconds",
    ),
    EventType(
        names.CPU_STEAL,
        "CPU steal: how long a hypervisor has kept a host's processors from running.",
        value="the time of one processor, since `since` or since the host started",
        unit="seconds",
        labels={"cpu": "the processor; none: the average of all", "since": "ISO time"},
    ),
    EventType(
        names.PROCESS_KILLED,
        "A process was killed from outside.",
        labels={
            "reason": "oom (the kernel's or the container's memory ran out) or signal",
            "process": "the process's name",
            "pid": "",
            "unit": "the systemd unit",
            "pod": "the Kubernetes pod",
            "container": "the container",
            "scope": "host or cgroup: whose memory ran out",
            "rss_kb": "the process's resident memory in kB",
        },
    ),
    EventType(names.DISK_FULL, "A write failed because a disk, or a quota on it, is full."),
    EventType(
        names.LISTEN_OVERFLOW, "The kernel reported a full accept queue of a listening port.", labels={"port": ""}
    ),
    EventType(
        names.TABLE_OVERFLOW, "The kernel's neighbour table was full.", labels={"table": "arp_cache, ndisc_cache"}
    ),
)

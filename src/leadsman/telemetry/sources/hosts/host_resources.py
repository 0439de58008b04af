"""Memory or disk space ran out: lines of kernels, systemd, Kubernetes, Docker and runtimes."""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

OOM, SIGNAL = {"reason": "oom"}, {"reason": "signal"}
VICTIM = r"(?P<pid>\d+) \((?P<process>[^)\n]{1,40})\)(?:[^\n]{0,100} anon-rss:(?P<rss_kb>\d+)kB)?"

KILLED = (
    (rf"Out of memory: Kill(?:ed)? process {VICTIM}", {**OOM, "scope": "host"}),
    (rf"Memory cgroup out of memory: Kill(?:ed)? process {VICTIM}", {**OOM, "scope": "cgroup"}),
    (
        r"(?P<unit>[\w@.-]{1,99}\.(?:service|scope)): (?:A process of this unit has been|Failed with result 'oom)",
        OOM,
    ),
    (r"(?P<unit>[\w@.-]{1,99}\.(?:service|scope)): Main process exited, code=killed, status=9/KILL", SIGNAL),
    (r"Reason: {1,20}OOMKilled\b", OOM),
    (r"[\"']?[rR]eason[\"']?[:=] ?[\"']?OOMKilled\b", OOM),
    (r"\"OOMKilled\": ?true\b", OOM),
    (r"OOMKilling: |(?:Container|container|Pod|pod) [^ \n]{1,200} (?:was|has been) OOMKilled", OOM),
    (r"Runtime exited with error: signal: killed", OOM),
)
"""Killed by the kernel, systemd (which names a unit), Kubernetes, Docker; serverless workers beyond limits."""

SOURCE = Source(
    "host_resources",
    "Memory and disks of hosts",
    "state",
    (
        *(Signature(v.PROCESS_KILLED, pattern, labels=labels, names_source=False) for pattern, labels in KILLED),
        Signature(v.DISK_FULL, r"No space left on device|ENOSPC: |Disk quota exceeded", names_source=False),
        Signature(
            v.RUNTIME_OUT_OF_MEMORY,
            r"JavaScript heap out of memory|FATAL ERROR: [^\n]{1,100} Allocation failed - process out of memory",
            labels={"runtime": "Node.js"},
            names_source=False,
        ),
        Signature(
            v.RUNTIME_OUT_OF_MEMORY,
            r"fatal error: runtime: out of memory",
            labels={"runtime": "Go"},
            names_source=False,
        ),
        Signature(
            v.RUNTIME_OUT_OF_MEMORY,
            r"Unable to allocate [^\n]{1,80} for an array with shape",
            labels={"runtime": "Python"},
            names_source=False,
        ),
    ),
)

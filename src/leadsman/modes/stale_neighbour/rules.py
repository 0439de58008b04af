"""How the gate sees a stale neighbour before it ships: in programs that set a host's kernel up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.program import Program

THRESHOLD = "net.ipv4.neigh.default.gc_thresh1"
OF_SERVERS = ("net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog")
"""Whoever sets these prepares a host that many clients connect to."""


def neighbours_never_forgotten(program: Program) -> Iterator[tuple[int, str]]:
    """A server that outlives its clients' addresses must forget who had them: gc_thresh1 must be 0."""
    threshold = program.settings.get(THRESHOLD)
    if threshold is not None and str(threshold.value) != "0":
        yield threshold.line, f"{THRESHOLD}={threshold.value} keeps dead neighbours as long as there are fewer"
    prepares = next((program.settings[name] for name in OF_SERVERS if name in program.settings), None)
    if threshold is None and prepares is not None:
        yield prepares.line, f"a server's kernel is set up without {THRESHOLD}=0: its default keeps dead neighbours"

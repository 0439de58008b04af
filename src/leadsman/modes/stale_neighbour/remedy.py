"""Repairs a host with a stale neighbour entry: deletes the entry, and lets the kernel delete unused entries.

Deleting the entry repairs but does not prevent. The kernel setting prevents but does not repair: a client that keeps
trying keeps the wrong entry in use, and the kernel deletes only unused entries.
"""

from __future__ import annotations

import json
import socket
import subprocess
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leadsman.errors import LeadsmanError
from leadsman.gate.host import PROC_SYS, Advice, apply_advice, kernel_settings, sysctl_file
from leadsman.remedies.remedy import Refused, Remedy, RemedyPlan, RemedyStatus, Step
from leadsman.telemetry.addresses import mac as plain_mac

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GC_THRESHOLDS = ("net.ipv4.neigh.default.gc_thresh1", "net.ipv6.neigh.default.gc_thresh1")
SYSCTL_FILE = Path("/etc/sysctl.d/60-leadsman.conf")

COMMAND_TIMEOUT_SECONDS = 10.0
"""`ip` returns within milliseconds."""

DISCARD = 9
"""The discard port: a packet to it makes the kernel request the MAC of the address."""

ADVICE_REASON = "With fewer than gc_thresh1 entries the kernel deletes no neighbour entry, even of a dead instance."


@dataclass(frozen=True, slots=True)
class HostEntry:
    """This host's neighbour entry for an address; `mac` is None where the address did not answer."""

    address: str
    device: str
    mac: str | None
    state: str

    @property
    def description(self) -> str:
        """Return the entry as text."""
        return f"{self.address} is {self.mac or 'unresolved'} on {self.device} ({self.state})"


@contextmanager
def plan(
    *, address: tuple[str, ...], mac: str, file: Path, heal_only: bool, kernel: Path = PROC_SYS
) -> Iterator[RemedyPlan]:
    """Yield the plan for these addresses on this host. `mac` is the true MAC, if known; only for a single address."""
    for each in address:
        _require_address(each)
    wrong = [_entry(each) for each in address]
    _refuse_right_entries(wrong, _true_mac(mac, address))
    prevention = [] if heal_only else list(_prevention_steps(file, kernel))
    yield RemedyPlan(
        title=f"Delete the neighbour entry of {', '.join(address)}, and let the kernel delete unused entries",
        why="The host sends to the MAC of a dead instance. With the next packet the kernel requests the MAC again.",
        steps=[*(_delete_step(each) for each in wrong), *prevention],
        check=partial(_status, wrong, _true_mac(mac, address)),
        details=[f"  {each.description}" for each in wrong],
        warnings=[*_warnings(kernel, prevents=bool(prevention), heal_only=heal_only)],
        timeout=timedelta(seconds=30),
        every=timedelta(seconds=0.5),
    )


def _require_address(text: str) -> None:
    try:
        ip_address(text)
    except ValueError:
        raise Refused(f"{text!r} is not an IP address. Example: 10.20.4.57") from None


def _true_mac(text: str, address: Sequence[str]) -> str | None:
    if not text:
        return None
    if len(address) > 1:
        raise Refused("--mac is the MAC of a single address: name one address, or omit --mac.")
    known = plain_mac(text)
    if known is None:
        raise Refused(f"{text} is not a MAC. Example: 02:5a:10:00:00:0b")
    return known


def _refuse_right_entries(entries: Sequence[HostEntry], true_mac: str | None) -> None:
    for entry in entries:
        if entry.mac is None:
            raise Refused(f"This host has no MAC for {entry.address} ({entry.state}): there is no entry to delete.")
        if entry.mac == true_mac:
            raise Refused(
                f"This host has the right MAC for {entry.address}: {entry.description}. The cause is another one, such "
                "as a firewall. To find it, run on both hosts: leadsman collect host --handshakes 9092"
            )


def _entry(address: str) -> HostEntry:
    """Return this host's entry; Refused where there is none, as for an address behind a router."""
    entries = json.loads(_ip("-j", "neigh", "show", address) or "[]")
    if not entries:
        raise Refused(
            f"This host has no entry for {address}: the address is not a neighbour, or no packet was sent to it "
            "recently. Run this on the host with the wrong entry; the finding names that host."
        )
    known = entries[0]
    return HostEntry(address, known["dev"], plain_mac(known.get("lladdr")), " ".join(known.get("state") or ["?"]))


def _ip(*words: str) -> str:
    try:
        result = subprocess.run(
            ["ip", *words], capture_output=True, text=True, check=False, timeout=COMMAND_TIMEOUT_SECONDS
        )
    except FileNotFoundError as error:
        raise Refused("There is no `ip` on this host. Install iproute2.") from error
    if result.returncode:
        raise KernelRejected(f"ip {' '.join(words)}: {result.stderr.strip()}. This requires root (CAP_NET_ADMIN).")
    return result.stdout


class KernelRejected(LeadsmanError):
    """The kernel rejected the change; `str()` of it shows the missing permission."""


def _delete_step(entry: HostEntry) -> Step:
    """Return the step that repairs. It needs no undo: the kernel resolves the address again with the next packet."""

    def do() -> None:
        _ip("neigh", "del", entry.address, "dev", entry.device)
        family = socket.AF_INET6 if ":" in entry.address else socket.AF_INET
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.sendto(b"", (entry.address, DISCARD))

    return Step(
        description=f"Delete the entry of {entry.address}, and resolve the address again: this repairs",
        command=f"ip neigh del {entry.address} dev {entry.device}",
        do=do,
    )


def _prevention_steps(file: Path, kernel: Path) -> Iterator[Step]:
    """Yield the step that prevents, where the kernel's threshold can be read and is not yet 0."""
    found = kernel_settings(GC_THRESHOLDS, kernel)
    advice = [Advice(name, value, "0", ADVICE_REASON) for name, value in found.items() if value != "0"]
    if not advice:
        return
    before = file.read_text(encoding="ascii") if file.exists() else None
    values = " ".join(f"{each.setting}={each.current}" for each in advice)

    def undo() -> None:
        apply_advice(
            [Advice(each.setting, each.recommended, str(each.current), ADVICE_REASON) for each in advice], file, kernel
        )
        if before is None:
            file.unlink()
        else:
            file.write_text(before, encoding="ascii")

    yield Step(
        description=f"Write {file} and apply it, so that the kernel deletes unused entries: this prevents",
        command=f"printf '{_escaped(sysctl_file(advice))}' > {file} && sysctl -p {file}",
        do=lambda: _applied(advice, file, kernel),
        undo=undo,
        undo_command=f"rm {file} && sysctl -w {values}",
    )


def _escaped(text: str) -> str:
    return text.replace("\n", "\\n")


def _applied(advice: Sequence[Advice], file: Path, kernel: Path) -> None:
    found = apply_advice(advice, file, kernel)
    wrong = [each.setting for each in advice if found.get(each.setting) != each.recommended]
    if wrong:
        raise KernelRejected(f"The kernel rejected {', '.join(wrong)}.")


def _status(wrong: Sequence[HostEntry], true_mac: str | None) -> RemedyStatus:
    """Read the entries again. A deleted entry is not yet repaired: only another MAC shows that it was resolved."""
    current = [_current_entry(each) for each in wrong]
    healed = [
        entry is not None and entry.mac is not None and (entry.mac == true_mac if true_mac else entry.mac != before.mac)
        for entry, before in zip(current, wrong, strict=True)
    ]
    descriptions = [
        f"{before.address} has no entry" if entry is None else entry.description
        for entry, before in zip(current, wrong, strict=True)
    ]
    return RemedyStatus(is_cured=all(healed), description="; ".join(descriptions))


def _current_entry(entry: HostEntry) -> HostEntry | None:
    try:
        return _entry(entry.address)
    except Refused:
        return None


def _warnings(kernel: Path, *, prevents: bool, heal_only: bool) -> Iterator[str]:
    yield (
        "gc_thresh1=0 alone does not end a running incident: a client that keeps trying keeps the wrong entry in use. "
        "So the entry is deleted first."
    )
    found = kernel_settings(GC_THRESHOLDS, kernel)
    if heal_only or (prevents and found):
        return
    if not found:
        yield (
            "The kernel's threshold cannot be read here, as in a container: set it on the host itself, or the next "
            "reused address causes the failure again. See: leadsman check host"
        )
    else:
        yield "gc_thresh1 is already 0: the kernel deletes unused entries, and no setting needs a change."


REMEDIES = {
    "stale_neighbour": Remedy(
        title="Delete the neighbour entry of a dead instance",
        help=(
            "Repair a stale neighbour entry on this host: first delete the entry of ADDRESS, which repairs; then set "
            "gc_thresh1 to 0 in a sysctl drop-in, which prevents the next one and alone does not end a running "
            "incident. Run the command on the host with the wrong entry, most often the broker. Afterwards it reads "
            "the entry again."
        ),
        parameters=(
            click.Argument(["address"], nargs=-1, required=True),
            click.Option(
                ["--mac"], default="", metavar="MAC", help="The address's true MAC, to compare the entry with."
            ),
            click.Option(
                ["--drop-in", "file"],
                type=click.Path(dir_okay=False, path_type=Path),
                default=SYSCTL_FILE,
                show_default=True,
                help="The file that keeps the setting.",
            ),
            click.Option(
                ["--heal-only"], is_flag=True, help="Delete the entry; leave the kernel's threshold as it is."
            ),
        ),
        plan=plan,
        examples=(
            "leadsman remedy stale_neighbour 10.20.4.57 --mac 02:5a:10:00:00:0b",
            "leadsman remedy stale_neighbour 10.20.4.57 --mac 02:5a:10:00:00:0b --do",
        ),
    ),
}

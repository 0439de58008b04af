"""How a host is cured that answers to a dead MAC: it forgets the address, and then no longer remembers for ever.

The first heals and prevents nothing; the second prevents and, alone, heals nothing: a client that keeps trying keeps
the wrong entry in use, and the kernel collects unused entries only.
"""

from __future__ import annotations

import json
import socket
import subprocess
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leadsman.errors import LeadsmanError
from leadsman.gate.host import KERNEL, Advice, apply, drop_in, settings_here
from leadsman.remedies.remedy import Look, Plan, Refused, Remedy, Step
from leadsman.telemetry.addresses import mac as plain_mac

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

THRESHOLDS = ("net.ipv4.neigh.default.gc_thresh1", "net.ipv6.neigh.default.gc_thresh1")
FILE = Path("/etc/sysctl.d/60-leadsman.conf")

SAYS_SECONDS = 10.0
"""`ip` answers in milliseconds."""

DISCARD = 9
"""A port for what nobody wants to read: a packet to it makes the kernel ask whose address it is."""

WHY = "Below gc_thresh1 entries the kernel forgets no neighbour, however long it is dead."


@dataclass(frozen=True, slots=True)
class Entry:
    """What this host believes of an address; without a MAC where nobody answered for it."""

    address: str
    device: str
    mac: str | None
    state: str

    @property
    def says(self) -> str:
        """Return it as a person reads it."""
        return f"{self.address} is {self.mac or 'nobody'} on {self.device} ({self.state})"


@contextmanager
def plan(*, address: tuple[str, ...], mac: str, file: Path, heal_only: bool, kernel: Path = KERNEL) -> Iterator[Plan]:
    """Yield the plan for these addresses on this host. `mac` is the true one, where it is known: for one address."""
    wrong = [_entry(each) for each in address]
    _refuse_the_right(wrong, _true(mac, address))
    prevents = [] if heal_only else list(_prevention(file, kernel))
    yield Plan(
        title=f"Have this host forget {', '.join(address)}, and from now on what nobody uses",
        why="It answers to the MAC of an instance that is gone. The next packet asks the network anew.",
        steps=[*(_forget(each) for each in wrong), *prevents],
        look=partial(_look, wrong, _true(mac, address)),
        shows=[f"  {each.says}" for each in wrong],
        warnings=[*_warnings(kernel, prevents=bool(prevents), heal_only=heal_only)],
        within=timedelta(seconds=30),
        every=timedelta(seconds=0.5),
    )


def _true(text: str, address: Sequence[str]) -> str | None:
    if not text:
        return None
    if len(address) > 1:
        raise Refused("--mac is the MAC of one address: name one, or leave --mac out.")
    known = plain_mac(text)
    if known is None:
        raise Refused(f"{text} is no MAC. One looks so: 02:5a:10:00:00:0b")
    return known


def _refuse_the_right(entries: Sequence[Entry], true: str | None) -> None:
    for entry in entries:
        if entry.mac is None:
            raise Refused(f"This host has no MAC for {entry.address} ({entry.state}): there is nothing to forget.")
        if entry.mac == true:
            raise Refused(
                f"This host has the right MAC for {entry.address}: {entry.says}. What keeps the two apart is something "
                "else, such as a firewall. Both ends say more: leadsman collect host --handshakes 9092"
            )


def _entry(address: str) -> Entry:
    """Return this host's entry; Refused where it has none, as for what lies behind a router."""
    told = json.loads(_ip("-j", "neigh", "show", address) or "[]")
    if not told:
        raise Refused(
            f"This host has no entry for {address}: it is not its neighbour, or nothing was sent to it lately. Run "
            "this on the host that holds the wrong entry; the finding names it."
        )
    known = told[0]
    return Entry(address, known["dev"], plain_mac(known.get("lladdr")), " ".join(known.get("state") or ["?"]))


def _ip(*words: str) -> str:
    try:
        ran = subprocess.run(["ip", *words], capture_output=True, text=True, check=False, timeout=SAYS_SECONDS)
    except FileNotFoundError as error:
        raise Refused("There is no `ip` on this host. Install iproute2.") from error
    if ran.returncode:
        raise CouldNotForget(f"ip {' '.join(words)}: {ran.stderr.strip()}. That takes root (CAP_NET_ADMIN).")
    return ran.stdout


class CouldNotForget(LeadsmanError):
    """The kernel did not let us; `str()` of it says what is missing."""


def _forget(entry: Entry) -> Step:
    """Return the step that heals. There is nothing to take back: whoever needs the address finds it out again."""

    def do() -> None:
        _ip("neigh", "del", entry.address, "dev", entry.device)
        family = socket.AF_INET6 if ":" in entry.address else socket.AF_INET
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.sendto(b"", (entry.address, DISCARD))

    return Step(
        says=f"Forget {entry.address}, and ask the network whose it is: this heals",
        command=f"ip neigh del {entry.address} dev {entry.device}",
        do=do,
    )


def _prevention(file: Path, kernel: Path) -> Iterator[Step]:
    """Yield the step that prevents, where the kernel's threshold is to be seen and is not 0 already."""
    found = settings_here(THRESHOLDS, kernel)
    advice = [Advice(name, value, "0", WHY) for name, value in found.items() if value != "0"]
    if not advice:
        return
    before = file.read_text(encoding="ascii") if file.exists() else None
    values = " ".join(f"{each.setting}={each.found}" for each in advice)

    def undo() -> None:
        apply([Advice(each.setting, each.wanted, str(each.found), WHY) for each in advice], file, kernel)
        if before is None:
            file.unlink()
        else:
            file.write_text(before, encoding="ascii")

    yield Step(
        says=f"Write {file} and set it, so that unused neighbours are forgotten: this prevents",
        command=f"printf '{_escaped(drop_in(advice))}' > {file} && sysctl -p {file}",
        do=lambda: _applied(advice, file, kernel),
        undo=undo,
        undo_command=f"rm {file} && sysctl -w {values}",
    )


def _escaped(text: str) -> str:
    return text.replace("\n", "\\n")


def _applied(advice: Sequence[Advice], file: Path, kernel: Path) -> None:
    found = apply(advice, file, kernel)
    wrong = [each.setting for each in advice if found.get(each.setting) != each.wanted]
    if wrong:
        raise CouldNotForget(f"The kernel did not take {', '.join(wrong)}.")


def _look(wrong: Sequence[Entry], true: str | None) -> Look:
    """Read the entries again. Gone is not yet healed: only another MAC shows that the network was asked."""
    now = [_now(each) for each in wrong]
    healed = [
        entry is not None and entry.mac is not None and (entry.mac == true if true else entry.mac != before.mac)
        for entry, before in zip(now, wrong, strict=True)
    ]
    said = [
        f"{before.address} is forgotten" if entry is None else entry.says
        for entry, before in zip(now, wrong, strict=True)
    ]
    return Look(cured=all(healed), says="; ".join(said))


def _now(entry: Entry) -> Entry | None:
    try:
        return _entry(entry.address)
    except Refused:
        return None


def _warnings(kernel: Path, *, prevents: bool, heal_only: bool) -> Iterator[str]:
    yield (
        "gc_thresh1=0 alone does not end a running incident: a client that keeps trying keeps the wrong entry in use. "
        "So the entry goes first."
    )
    found = settings_here(THRESHOLDS, kernel)
    if heal_only or (prevents and found):
        return
    if not found:
        yield (
            "The kernel's threshold cannot be seen from here, as in a container: prevent it on the host itself, or the "
            "next reused address brings the incident back. leadsman check host"
        )
    else:
        yield "gc_thresh1 is 0 already: unused neighbours are forgotten, and nothing is to be set."


REMEDIES = {
    "stale_neighbour": Remedy(
        title="Have a host forget a dead instance's MAC, and from now on what nobody uses",
        help=(
            "Cure this host of a stale neighbour: forget the entry of ADDRESS first, which heals; then set gc_thresh1 "
            "to 0 in a sysctl drop-in, which prevents the next one and alone does not end a running incident. Run it "
            "on the host that holds the wrong entry, most often the broker. The entry is read again afterwards."
        ),
        parameters=(
            click.Argument(["address"], nargs=-1, required=True),
            click.Option(
                ["--mac"], default="", metavar="MAC", help="The address's true MAC, to hold the entry against."
            ),
            click.Option(
                ["--drop-in", "file"],
                type=click.Path(dir_okay=False, path_type=Path),
                default=FILE,
                show_default=True,
                help="The file that keeps the setting.",
            ),
            click.Option(
                ["--heal-only"], is_flag=True, help="Forget the entry; leave the kernel's threshold as it is."
            ),
        ),
        plan=plan,
        examples=(
            "leadsman remedy stale_neighbour 10.20.4.57 --mac 02:5a:10:00:00:0b",
            "leadsman remedy stale_neighbour 10.20.4.57 --mac 02:5a:10:00:00:0b --do",
        ),
    ),
}

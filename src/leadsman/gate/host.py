"""A host's kernel settings, advice of modes on them, and the sysctl.d file that sets them permanently."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PROC_SYS = Path("/proc/sys")
SYSCTL_LINE = re.compile(r"^\s*([a-z0-9_.\-]+)\s*=\s*(\S+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The fleet around a host. `addresses`: the addresses that the host talks to.

    `reuses_per_day`: how many of these addresses move to another host per day. `address_unused_seconds`: the average
    time that an address is unused before another host gets it. `repair_seconds`: the time until an operator repairs a
    pair that cannot connect. `network_confirms_mac`: the network confirms a MAC whenever the kernel asks, or delivers
    other flows whatever MAC they name.
    """

    addresses: int
    reuses_per_day: float
    address_unused_seconds: float
    repair_seconds: float
    network_confirms_mac: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """A setting that should change. `current` is None where the setting could not be read."""

    setting: str
    current: str | None
    recommended: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """A mode's advice for a host, and the expected harm per day, with the current and the recommended settings."""

    advice: tuple[Advice, ...]
    harm: str
    harm_now: float
    harm_advised: float
    assumptions: tuple[str, ...]


def kernel_settings(names: Iterable[str], kernel: Path = PROC_SYS) -> Mapping[str, str]:
    """Return the settings of this kernel that can be read."""
    readable = {}
    for name in names:
        with suppress(OSError):
            readable[name] = (kernel / name.replace(".", "/")).read_text(encoding="ascii").strip()
    return readable


def parse_sysctl(file: Path) -> Mapping[str, str]:
    """Return the settings in the output of `sysctl -a`, or in a sysctl.d file."""
    settings = dict(SYSCTL_LINE.findall(file.read_text(encoding="utf-8", errors="replace")))
    if not settings:
        raise UsageError(
            f"{file} has no line such as `net.core.somaxconn = 4096`. Write the file on the host: sysctl -a"
        )
    return settings


def sysctl_file(advice: Sequence[Advice]) -> str:
    """Return the text of a file for /etc/sysctl.d with the recommended settings."""
    lines = [f"# {each.why}\n{each.setting} = {each.recommended}\n" for each in advice]
    return "# Written by leadsman check host.\n" + "".join(lines)


def apply_advice(advice: Sequence[Advice], file: Path, kernel: Path = PROC_SYS) -> Mapping[str, str]:
    """Write the file, set the kernel, and return the kernel's settings afterwards. The file is never incomplete."""
    fresh = file.with_name(f".{file.name}.new")
    try:
        fresh.write_text(sysctl_file(advice), encoding="ascii")
        fresh.chmod(0o644)
        fresh.replace(file)
        for each in advice:
            (kernel / each.setting.replace(".", "/")).write_text(each.recommended, encoding="ascii")
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise UsageError(
            f"{error.filename} cannot be written: {error.strerror}. This needs root on the host, not in a container. "
            "Without --apply the file is only shown."
        ) from error
    return kernel_settings((each.setting for each in advice), kernel)

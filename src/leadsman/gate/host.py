"""A host's kernel settings, what a mode advises about them, and the file that sets them for good."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

KERNEL = Path("/proc/sys")
LINE = re.compile(r"^\s*([a-z0-9_.\-]+)\s*=\s*(\S+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What a host lives among. `rest_seconds`: from an instance's death until its address is given away, on average.

    `noticed_seconds`: until somebody helps a pair that cannot connect. `confirms`: whether the network says yes
    whenever it is asked if a MAC still holds, or delivers other flows whatever MAC they name.
    """

    addresses: int
    reuses_a_day: float
    rest_seconds: float
    noticed_seconds: float
    confirms: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """A setting that should be another. `found` is None where it could not be read."""

    setting: str
    found: str | None
    wanted: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a mode says of a host: what to change, and the harm to expect a day, as it is and with the advice."""

    advice: tuple[Advice, ...]
    harm: str
    now: float
    advised: float
    assumed: tuple[str, ...]


def settings_here(names: Iterable[str], kernel: Path = KERNEL) -> Mapping[str, str]:
    """Return those of the kernel's settings that can be read."""
    found = {}
    for name in names:
        with suppress(OSError):
            found[name] = (kernel / name.replace(".", "/")).read_text(encoding="ascii").strip()
    return found


def settings_in(file: Path) -> Mapping[str, str]:
    """Return the settings in the output of `sysctl -a`, or in a sysctl.d file."""
    found = dict(LINE.findall(file.read_text(encoding="utf-8", errors="replace")))
    if not found:
        raise UsageError(f"{file} holds no line such as `net.core.somaxconn = 4096`. Make it on the host: sysctl -a")
    return found


def drop_in(advice: Sequence[Advice]) -> str:
    """Return the text of a file for /etc/sysctl.d that follows the advice."""
    lines = [f"# {each.why}\n{each.setting} = {each.wanted}\n" for each in advice]
    return "# Written by leadsman check host.\n" + "".join(lines)


def apply(advice: Sequence[Advice], file: Path, kernel: Path = KERNEL) -> Mapping[str, str]:
    """Write the file, set the kernel to it, and return what the kernel then says. Nothing is written by halves."""
    fresh = file.with_name(f".{file.name}.new")
    try:
        fresh.write_text(drop_in(advice), encoding="ascii")
        fresh.chmod(0o644)
        fresh.replace(file)
        for each in advice:
            (kernel / each.setting.replace(".", "/")).write_text(each.wanted, encoding="ascii")
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise UsageError(
            f"{error.filename} cannot be written: {error.strerror}. That takes root, on the host and in no container. "
            "Without --apply the file is only shown."
        ) from error
    return settings_here((each.setting for each in advice), kernel)

"""Puts what probes bring into a capture folder, section by section: whole at any moment, secrets masked."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from leadsman.capture import MANIFEST, Absent, Item, Manifest, read_manifest, write_manifest
from leadsman.collect.collector import CouldNotBeHad
from leadsman.collect.run import output
from leadsman.errors import CaptureError
from leadsman.redaction import mask
from leadsman.sections import Section, exit_line, head_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leadsman.collect.collector import Probe

PIECE_LINES = 2000
"""Lines that are masked and written together."""

PRIVATE_KEY = "PRIVATE KEY-----"


@dataclass(slots=True, kw_only=True)
class Folder:
    """A capture that is being made, or added to. `subject` is whom it is of; `now` is the clock."""

    path: Path
    subject: str
    ran: str
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    began: datetime = field(init=False)
    items: dict[str, Item] = field(default_factory=dict)
    absent: dict[str, Absent] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    before: Manifest | None = None

    def __post_init__(self) -> None:
        self.began = self.now()

    def open(self) -> None:
        """Make the folder, or look at what is there: a capture can be added to, another folder is not touched."""
        if self.path.exists() and not self.path.is_dir():
            raise CaptureError(f"{self.path} is a file. Name a folder with --out.")
        self.path.mkdir(parents=True, exist_ok=True)
        self.before = read_manifest(self.path)
        if self.before is None and any(self.path.iterdir()):
            raise CaptureError(
                f"{self.path} holds something else than a capture (there is no {MANIFEST}). Name another with --out."
            )
        self.close()  # a manifest from the first moment on: whatever ends us, this is a capture

    def take(self, probe: Probe) -> str | None:
        """Take one probe and return why it could not be had; None where all is well."""
        at = self.now()
        target = self.path / PurePosixPath(probe.file)
        target.parent.mkdir(parents=True, exist_ok=True)
        why = self._had(probe, target, at)
        if why is None:
            self.items[probe.file] = Item(
                file=probe.file, source=probe.source, command=mask(probe.command), at=at, note=probe.note
            )
        else:
            self.absent[probe.file] = Absent(what=probe.file, why=mask(why))
        return why

    def close(self) -> None:
        """Write the manifest, with what was there before."""
        before = self.before
        kept = {item.file: item for item in before.items} if before else {}
        missed = {(each.what, each.why): each for each in (*(before.absent if before else ()), *self.absent.values())}
        write_manifest(
            self.path,
            Manifest(
                cluster=before.cluster if before else "",
                recorded_from=before.recorded_from if before else self.began,
                recorded_until=self.now(),
                host=before.host if before else self.subject,
                ran="; ".join(dict.fromkeys(filter(None, (before.ran if before else "", mask(self.ran))))),
                versions=before.versions if before else {},
                items=tuple((kept | self.items).values()),
                absent=tuple(missed.values()),
                notes=(*(before.notes if before else ()), *self.notes),
            ),
        )

    def _had(self, probe: Probe, target: Path, at: datetime) -> str | None:
        if probe.saves:
            return self._save(probe, target)
        return self._each(probe, target) if probe.each else self._write(probe, target, at)

    def _each(self, probe: Probe, target: Path) -> str | None:
        """Take a probe for each of what there is; return the first reason why one could not be had."""
        assert probe.each is not None
        missing: list[str] = []
        try:
            for single in probe.each():
                same = single.file == probe.file
                why = self._write(single, target, self.now()) if same else self.take(single)
                missing += [why] if why is not None else []
        except CouldNotBeHad as error:
            missing.append(str(error))
            self._write(replace(probe, take=partial(_fail, error)), target, self.now())
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        return f"{missing[0]}{more}" if missing else None

    def _write(self, probe: Probe, target: Path, at: datetime) -> str | None:
        """Append a section. Its lines reach the disk in pieces of whole lines, masked: none is ever there unmasked."""
        why: str | None = None
        with target.open("a", encoding="utf-8", errors="surrogateescape") as file:
            if not probe.plain:
                file.write(self._head(probe, at))
            try:
                for piece in _pieces(_lines(probe)):
                    file.write(mask(piece))
            except CouldNotBeHad as error:
                why = str(error)
            if why is not None and probe.plain:
                file.write(self._head(probe, at))
            if why is not None:
                file.write(mask(_one_line(why)))
            if why is not None or not probe.plain:
                file.write(exit_line(0 if why is None else 1))
        return why

    def _head(self, probe: Probe, at: datetime) -> str:
        return mask(head_line(Section(at, probe.subject or self.subject, probe.file, probe.command)))

    def _save(self, probe: Probe, target: Path) -> str | None:
        assert probe.saves is not None
        try:
            probe.saves(target)
        except CouldNotBeHad as error:
            with suppress(OSError):
                target.unlink()
            text = self._head(probe, self.now()) + mask(_one_line(str(error))) + exit_line(1)
            target.with_name(target.name + ".missing").write_text(text, encoding="utf-8")
            return str(error)
        self.notes.append(f"{probe.file} is not text: what secrets are in it could not be masked.")
        return None


def _fail(error: CouldNotBeHad) -> Iterator[str]:
    raise error
    yield ""


def _lines(probe: Probe) -> Iterable[str]:
    return probe.take() if probe.take else output(probe.argv, within=probe.within)


def _pieces(lines: Iterable[str]) -> Iterable[str]:
    """Gather lines; the last one gets an end where it has none, or the next section would continue it."""
    held: list[str] = []
    within_key = False  # a key's lines are masked together or not at all
    try:
        for line in lines:
            held.append(line)
            within_key ^= PRIVATE_KEY in line and line.count(PRIVATE_KEY) % 2 == 1
            if len(held) >= PIECE_LINES and not within_key:
                yield "".join(held)
                held = []
    except CouldNotBeHad:
        yield _ended("".join(held))
        raise
    yield _ended("".join(held))


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split()) + "\n"

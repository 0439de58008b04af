"""Writes the text of probes into a capture folder, section by section: valid at any moment, secrets masked."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from leadsman.capture import MANIFEST, Item, Manifest, MissingItem, read_manifest, write_manifest
from leadsman.collect.collector import NotCollected, Unusable
from leadsman.collect.run_command import command_output
from leadsman.errors import CaptureError
from leadsman.redaction import mask
from leadsman.sections import Section, exit_line, section_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from leadsman.collect.collector import Probe

MASKED_LINES_PER_WRITE = 8000
MASKED_CHARACTERS_PER_WRITE = 4_000_000
"""Lines and characters that are masked and written together."""

LINES_OF_A_SECRET = 400
"""Lines above and below a piece that are masked together with it: a private key has fewer."""


@dataclass(slots=True, kw_only=True)
class CaptureFolder:
    """A new capture, or an existing one that is extended. `subject` is the default subject; `now` is the clock.

    `ran` is the command line. `texts` counts the texts that were collected, entire or in part, `absent` holds the items
    that were not. `before` is the manifest of the existing capture.
    """

    path: Path
    subject: str
    ran: str
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    began: datetime = field(init=False)
    texts: int = 0
    items: dict[str, Item] = field(default_factory=dict)
    absent: dict[str, MissingItem] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    before: Manifest | None = None

    def __post_init__(self) -> None:
        self.began = self.now()

    def open(self) -> None:
        """Make the folder, or open an existing capture. Raises CaptureError for any other existing folder or file."""
        if self.path.exists() and not self.path.is_dir():
            raise CaptureError(f"{self.path} is a file. Name a folder with --out.")
        self.path.mkdir(parents=True, exist_ok=True)
        self.before = read_manifest(self.path)
        if self.before is None and any(self.path.iterdir()):
            raise CaptureError(
                f"{self.path} is not empty and is no capture (it has no {MANIFEST}). Name another folder with --out."
            )
        self.close()  # a manifest from the first moment on: the folder is a capture however the process ends

    def collect(self, probe: Probe) -> str | None:
        """Run one probe. Return the reason why the item was not collected, or not entirely; None where it was."""
        at = self.now()
        target = self.path / PurePosixPath(probe.file)
        target.parent.mkdir(parents=True, exist_ok=True)
        why = self._run(probe, target, at)
        if why is not None:
            self.absent[probe.name] = MissingItem(what=mask(probe.name), why=mask(why))
            return mask(why)
        if probe.has_text:
            self.items[probe.file] = Item(
                file=probe.file, source=probe.source, command=mask(probe.command), at=at, note=probe.note
            )
        return None

    def close(self) -> None:
        """Write the manifest, together with the items of the manifest that was there before."""
        before = self.before
        earlier = {item.file: item for item in before.items} if before else {}
        absent = {(each.what, each.why): each for each in (*(before.absent if before else ()), *self.absent.values())}
        write_manifest(
            self.path,
            Manifest(
                cluster=before.cluster if before else "",
                recorded_from=before.recorded_from if before else self.began,
                recorded_until=self.now(),
                host=before.host if before else self.subject,
                ran="; ".join(dict.fromkeys(filter(None, (before.ran if before else "", mask(self.ran))))),
                versions=before.versions if before else {},
                items=tuple((earlier | self.items).values()),
                absent=tuple(absent.values()),
                notes=(*(before.notes if before else ()), *self.notes),
            ),
        )

    def _run(self, probe: Probe, target: Path, at: datetime) -> str | None:
        if probe.write_to:
            return self._save(probe, target)
        return self._expand(probe, target) if probe.expand else self._write(probe, target, at)

    def _expand(self, probe: Probe, target: Path) -> str | None:
        """Run the probes that a probe expands to; return the first reason why an item was not collected."""
        assert probe.expand is not None
        reasons: list[str] = []
        try:
            for each in probe.expand():
                same_file = each.file == probe.file
                why = self._write(each, target, self.now()) if same_file else self.collect(each)
                reasons += [why] if why is not None else []
        except NotCollected as error:
            reasons.append(str(error))
            self._write(replace(probe, read=partial(_fail, error)), target, self.now())
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        return f"{reasons[0]}{more}" if reasons else None

    def _write(self, probe: Probe, target: Path, at: datetime) -> str | None:
        """Append a section. Lines are masked before they are written: the disk never holds an unmasked line."""
        why: str | None = None
        with target.open("a", encoding="utf-8", errors="surrogateescape") as file:
            if not probe.has_own_times:
                file.write(self._head(probe, at))
            start = file.tell()
            try:
                for piece in _masked_pieces(_lines(probe)):
                    file.write(piece)
            except NotCollected as error:
                why = str(error)
                if isinstance(error, Unusable):
                    file.seek(file.truncate(start))
            self.texts += why is None or file.tell() > start
            if why is not None and probe.has_own_times:
                file.write(self._head(probe, at))
            if why is not None:
                file.write(mask(_one_line(why)))
            if why is not None or not probe.has_own_times:
                file.write(exit_line(0 if why is None else 1))
        return why

    def _head(self, probe: Probe, at: datetime) -> str:
        return mask(section_line(Section(at, probe.subject or self.subject, probe.file, probe.command)))

    def _save(self, probe: Probe, target: Path) -> str | None:
        assert probe.write_to is not None
        try:
            probe.write_to(target)
        except NotCollected as error:
            with suppress(OSError):
                target.unlink()
            text = self._head(probe, self.now()) + mask(_one_line(str(error))) + exit_line(1)
            target.with_name(target.name + ".missing").write_text(text, encoding="utf-8")
            return str(error)
        self.texts += 1
        self.notes.append(f"{probe.file} is not text: secrets in it could not be masked.")
        return None


def _fail(error: NotCollected) -> Iterator[str]:
    raise error
    yield ""


def _lines(probe: Probe) -> Iterable[str]:
    return probe.read() if probe.read else command_output(probe.argv, timeout=probe.timeout)


def _masked_pieces(lines: Iterable[str]) -> Iterator[str]:
    """Join lines to pieces, masked with the lines around them: a secret may begin in one piece and end in the next.

    A last line without a newline gets one: the next section would continue it otherwise.
    """
    written: list[str] = []
    left: list[str] = []
    characters = 0
    try:
        for line in _single_lines(lines):
            left.append(line)
            characters += len(line)
            if len(left) >= MASKED_LINES_PER_WRITE or characters >= MASKED_CHARACTERS_PER_WRITE:
                ready = max(1, len(left) - LINES_OF_A_SECRET)
                yield _masked(written, left, ready)
                written, left = [*written, *left[:ready]][-LINES_OF_A_SECRET:], left[ready:]
                characters = sum(map(len, left))
    except NotCollected:
        yield _with_newline(_masked(written, left, len(left)))
        raise
    yield _with_newline(_masked(written, left, len(left)))


def _single_lines(pieces: Iterable[str]) -> Iterator[str]:
    """Yield lines, each with its newline but the last: a probe may hand out several at once, or a part of one."""
    begun = ""
    try:
        for piece in pieces:
            *whole, begun = (begun + piece).split("\n")
            yield from (f"{line}\n" for line in whole)
    except NotCollected:
        yield begun
        raise
    yield begun


def _masked(written: Sequence[str], left: Sequence[str], ready: int) -> str:
    """Return the first `ready` lines, masked among those that are written and those that are left."""
    masked = mask("".join((*written, *left))).split("\n")
    before, after = len(written), len(written) + ready
    ends_open = after == len(masked) and ready
    return "\n".join(masked[before:after]) + ("" if ends_open or not ready else "\n")


def _with_newline(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split()) + "\n"

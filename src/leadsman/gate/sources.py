"""Reads files into facts: which files, which readers, and what went wrong with a file."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import UsageError
from leadsman.gate.code.analysis import analyse
from leadsman.gate.code.clients import ProgramClients
from leadsman.gate.code.setting_names import setting_name_of
from leadsman.gate.code.values import Evaluation
from leadsman.gate.documents.interpreter import interpret
from leadsman.gate.facts import Facts
from leadsman.gate.hops import hops_of
from leadsman.gate.reader import Reader, UnreadableFile, reader_of
from leadsman.gate.versions import version_in_manifests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.gate.code.syntax import Node

TRACES = (
    b"kafka",
    b"bootstrap.servers",
    b"broker.id",
    b"node.roles",
    b"gc_thresh1",
    b"min.insync",
    b"replication.factor",
    b"sarama",
    b"franz-go",
    b"aws_msk",
)
"""A file without any of these, in any case of letters, has nothing that a rule could object to."""

LARGEST = 2 * 1024 * 1024
"""Bytes. Programs and configurations of people are smaller; larger files are generated, and slow every commit."""

SKIPPED_FOLDERS = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "node_modules",
        ".venv",
        "venv",
        "__pycache__",
        ".tox",
        ".mypy_cache",
        ".ruff_cache",
        ".gradle",
        ".idea",
        "target",
        "build",
        "dist",
        ".terraform",
        "vendor",
        "site-packages",
        ".eggs",
    }
)
"""Folders of tools and of other people's code."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that was not checked, and why."""

    path: str
    why: str


TEST_FOLDERS = frozenset(
    {"test", "tests", "testing", "testdata", "__tests__", "integrationTest", "integration-tests", "testFixtures", "it"}
)
TEST_NAMES = ("test_", "conftest.")
TEST_ENDINGS = ("_test", "Test", "Tests", "IT", ".test", ".spec", "TestCase", "_tests")
"""Names of tests, without their suffix. Tests are not deployed, and misuse clients on purpose."""


def is_test(name: str) -> bool:
    """Whether a file is a test by the conventions of its language."""
    return name.startswith(TEST_NAMES) or name.rpartition(".")[0].endswith(TEST_ENDINGS)


@dataclass(slots=True)
class SourceFiles:
    """The files below the given paths that a reader knows, and paths that could not be listed."""

    files: list[str] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    with_tests: bool = False


def list_sources(paths: Iterable[str], *, with_tests: bool = False) -> SourceFiles:
    """Return the files to check, in alphabetical order. A file that is named itself is checked, whatever its name.

    UsageError for a path that does not exist.
    """
    found = SourceFiles(with_tests=with_tests)
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112 - ten times as fast for thousands of files
            _list_folder(path, found)
        elif os.path.lexists(path):
            found.files.append(path)
        else:
            raise UsageError(f"No file or folder at {path}. Give the paths of your sources: leadsman check program src")
    found.files = list(dict.fromkeys(found.files))
    return found


def _list_folder(path: str, found: SourceFiles) -> None:
    """List a folder. Links to folders are not followed, so that a loop of links has no effect."""

    def failed(error: OSError) -> None:
        found.unreadable.append(Unreadable(str(error.filename), error.strerror or str(error)))

    skipped = SKIPPED_FOLDERS if found.with_tests else SKIPPED_FOLDERS | TEST_FOLDERS
    for folder, folders, names in os.walk(path, onerror=failed):
        folders[:] = sorted(each for each in folders if each not in skipped)
        names = [each for each in names if found.with_tests or not is_test(each)]  # noqa: PLW2901 - filtered
        found.files += [os.path.join(folder, name) for name in sorted(names) if reader_of(name)]  # noqa: PTH118 - as above


def read_source(path: str) -> tuple[str, Reader] | None:
    """Return text and reader of a file; None where no rule could object to it. Raises UnreadableFile."""
    reader = reader_of(os.path.basename(path))  # noqa: PTH119 - as above
    if reader is None:
        return None
    content = _content(path)
    if content.startswith(UTF_16):
        content = text_of(content).encode("utf-8", errors="replace")
    if not could_matter(content):
        return None
    if b"\0" in content:
        raise UnreadableFile("a binary file")
    return text_of(content), reader


UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""With what a text in UTF-16 begins, as PowerShell writes redirected output."""


def text_of(content: bytes) -> str:
    """Return a file's text: UTF-16 with its mark, UTF-8 with or without one, else Latin-1."""
    if content.startswith(UTF_16):
        return content.decode("utf-16", errors="replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def could_matter(content: bytes) -> bool:
    """Whether a file has a trace of what rules are about."""
    lowered = content.lower()
    return any(trace in lowered for trace in TRACES)


def refuse_if_large(size: int) -> None:
    """Raise UnreadableFile for a file that is larger than what people write."""
    if size > LARGEST:
        raise UnreadableFile(f"{size:,} bytes; files of more than {LARGEST:,} are not checked")


def _content(path: str) -> bytes:
    try:
        if not os.path.isfile(path):  # noqa: PTH113 - as above
            raise UnreadableFile("not a file, or a link that leads nowhere")
        refuse_if_large(os.path.getsize(path))  # noqa: PTH202 - as above
        with open(path, "rb") as stream:  # noqa: PTH123 - as above
            return stream.read()
    except OSError as error:
        raise UnreadableFile(error.strerror or str(error)) from error


def facts_of(path: str, text: str, reader: Reader) -> Facts:
    """Return what a file says. Raises UnreadableFile."""
    try:
        translation = reader.read(text)
        if reader.is_program:
            return _program_facts(path, text, reader.language, translation)  # type: ignore[arg-type]  # a program's reader returns syntax
        return interpret(path, text, reader.language, translation)  # type: ignore[arg-type]  # the others return documents
    except RecursionError as error:
        raise UnreadableFile("nested too deeply") from error


def _program_facts(path: str, text: str, language: str, body: list[Node]) -> Facts:
    evaluation = _evaluation(body, language, path, {})
    clients = ProgramClients(evaluation, partial(version_in_manifests, path)).find()
    return Facts(
        path=path,
        language=language,
        text=text,
        resources=clients,
        evaluation=evaluation,
        hops=hops_of(text, evaluation.code),
    )


def _evaluation(body: list[Node], language: str, path: str, loaded: dict[str, Evaluation | None]) -> Evaluation:
    imported = partial(_imported, language, path, loaded)
    return Evaluation(analyse(body, language), imported, setting_name_of(language))


def _imported(language: str, path: str, loaded: dict[str, Evaluation | None], module: str) -> Evaluation | None:
    """Return a module that a Python program imports, where it stands beside the program or in a folder above it."""
    if language != "python":
        return None
    for candidate in _module_files(path, module):
        key = str(candidate)
        if key not in loaded:
            loaded[key] = None  # ends a cycle of imports
            loaded[key] = _load(key, loaded)
        if loaded[key] is not None:
            return loaded[key]
    return None


def _module_files(path: str, module: str) -> Iterator[Path]:
    folder = Path(path).absolute().parent
    level = len(module) - len(module.lstrip("."))
    parts = module.lstrip(".").split(".")
    folders = [folder, *folder.parents[:4]] if not level else [folder.joinpath(*[".."] * (level - 1))]
    for each in folders:
        for file in (
            each.joinpath(*parts).with_suffix(".py") if parts[-1] else each,
            each.joinpath(*parts, "__init__.py"),
        ):
            if file.is_file():
                yield file


def _load(path: str, loaded: dict[str, Evaluation | None]) -> Evaluation | None:
    reader = reader_of(path)
    try:
        assert reader is not None
        content = _content(path).decode("utf-8", errors="replace")
        return _evaluation(reader.read(content), reader.language, path, loaded)  # type: ignore[arg-type]  # Python is a program
    except UnreadableFile:
        return None

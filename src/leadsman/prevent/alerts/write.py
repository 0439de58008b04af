"""Writes the generated files into a folder: each beside its place and then renamed, and never over a file of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from leadsman.errors import UsageError
from leadsman.prevent.alerts.alert import MINUTE, TEN_MINUTES
from leadsman.prevent.alerts.alertmanager import alertmanager_document
from leadsman.prevent.alerts.cases import case_document
from leadsman.prevent.alerts.readme import readme_text
from leadsman.prevent.alerts.rules import rule_document

if TYPE_CHECKING:
    from pathlib import Path

    from leadsman.prevent.alerts.coverage import Coverage

RULES, ALERTMANAGER, README = "leadsman.rules.yml", "alertmanager.yml", "README.md"
TESTS = {"leadsman.tests.yml": MINUTE, "leadsman.tests.days.yml": TEN_MINUTES}
"""The test files, and the interval of the cases in each: an evaluation has one interval."""

WRITTEN = "Written by leadsman alerts; a later call overwrites this file."
YAML_MARK, MARKDOWN_MARK = f"# {WRITTEN}", f"<!-- {WRITTEN} -->"
MARKS = {**dict.fromkeys((RULES, ALERTMANAGER, *TESTS), YAML_MARK), README: MARKDOWN_MARK}

LINE_WIDTH = 120


def yaml_text(document: dict[str, Any]) -> str:
    """Return a document as YAML under the mark."""
    body = yaml.safe_dump(document, sort_keys=False, width=LINE_WIDTH, allow_unicode=True, default_flow_style=False)
    return f"{YAML_MARK}\n{body}"


def write_folder(found: Coverage, folder: Path) -> None:
    """Write all files. UsageError where the folder, or a file that would be overwritten, is not leadsman's."""
    texts = {
        RULES: yaml_text(rule_document(found)),
        **{name: yaml_text(case_document(found, RULES, interval)) for name, interval in TESTS.items()},
        ALERTMANAGER: yaml_text(alertmanager_document(found)),
        README: readme_text(found, MARKDOWN_MARK),
    }
    try:
        _refuse_files_of_others(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            fresh = folder / f".{name}.new"
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(folder / name)
    except OSError as error:
        raise UsageError(f"Cannot write to {folder}: {error.strerror}. Choose another folder with --out.") from error


def _refuse_files_of_others(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file. Choose a folder with --out.")
    present = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    if present and not _is_ours(folder, RULES):
        raise UsageError(f"{folder} holds files of others, such as {present[0]}. Choose a new folder with --out.")
    for name in (*TESTS, ALERTMANAGER, README):
        if name in present and not _is_ours(folder, name):
            raise UsageError(f"{folder / name} was not written by leadsman alerts. Move it, or choose another --out.")


def _is_ours(folder: Path, name: str) -> bool:
    path = folder / name
    return path.is_file() and path.read_text(encoding="utf-8", errors="replace").startswith(MARKS[name])

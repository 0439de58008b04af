"""Versions of client libraries, where a manifest or lock file beside the program pins them."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.library import Library

DEEPEST = 8
"""Folders above a program that are looked at. The folder of a repository ends the search."""

LARGEST = 4 * 1024 * 1024
"""Bytes of a manifest that is read."""


def version_in_manifests(path: str, library: Library) -> str:
    """Return the pinned version of a library for a program; empty where no manifest pins one."""
    folder = Path(path).absolute().parent
    for each in (folder, *folder.parents)[:DEEPEST]:
        versions = _versions(str(each))
        for name in library.distributions:
            if name in versions:
                return versions[name]
        if (each / ".git").exists():
            break
    return ""


@cache
def _versions(folder: str) -> dict[str, str]:
    """Return the pinned versions in the manifests of a folder. A manifest that cannot be read says nothing."""
    found: dict[str, str] = {}
    for name, read in MANIFESTS.items():
        file = Path(folder) / name
        try:
            if file.is_file() and file.stat().st_size < LARGEST:
                for distribution, version in read(file.read_text(encoding="utf-8", errors="replace")):
                    found.setdefault(distribution, version)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ET.ParseError, RecursionError):
            continue
    return found


def _requirements(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, equals, version = line.partition("#")[0].partition("==")
        if equals:
            yield name.partition("[")[0].strip().lower(), version.partition(";")[0].split()[0].strip("\\ ")


def _lock_packages(text: str) -> Iterator[tuple[str, str]]:
    """Yield the packages of poetry.lock and uv.lock."""
    for package in tomllib.loads(text).get("package", []):
        yield str(package["name"]).lower(), str(package["version"])


def _pyproject(text: str) -> Iterator[tuple[str, str]]:
    for requirement in tomllib.loads(text).get("project", {}).get("dependencies", []):
        yield from _requirements(requirement)


def _pipfile_lock(text: str) -> Iterator[tuple[str, str]]:
    for name, package in json.loads(text)["default"].items():
        yield name.lower(), str(package["version"]).lstrip("=")


def _pom(text: str) -> Iterator[tuple[str, str]]:
    if "<!DOCTYPE" in text:
        return  # entities can expand without end
    root = ET.fromstring(text)  # noqa: S314 - a document type is refused above
    space = root.tag.partition("}")[0] + "}" if root.tag.startswith("{") else ""
    properties = {each.tag.removeprefix(space): each.text or "" for each in root.iterfind(f"{space}properties/*")}
    for each in root.iter(f"{space}dependency"):
        version = (each.findtext(f"{space}version") or "").strip()
        if version.startswith("${"):
            version = properties.get(version[2:-1], "")
        if version[:1].isdigit():
            yield str(each.findtext(f"{space}artifactId")).strip(), version


def _go_mod(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        words = line.removeprefix("require").split()
        if len(words) > 1 and words[1].startswith("v"):
            yield words[0], words[1].removeprefix("v")


def _package_lock(text: str) -> Iterator[tuple[str, str]]:
    packages: dict[str, Any] = json.loads(text).get("packages", {})
    for name, package in packages.items():
        if name.startswith("node_modules/") and "version" in package:
            yield name.removeprefix("node_modules/"), str(package["version"])


MANIFESTS = {
    "requirements.txt": _requirements,
    "requirements.lock": _requirements,
    "constraints.txt": _requirements,
    "poetry.lock": _lock_packages,
    "uv.lock": _lock_packages,
    "Pipfile.lock": _pipfile_lock,
    "pyproject.toml": _pyproject,
    "pom.xml": _pom,
    "go.mod": _go_mod,
    "package-lock.json": _package_lock,
}

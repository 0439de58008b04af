"""Fetches the exact jars of `jars.lock` once, and returns their paths.

The lock names every jar of a set, transitive ones too, by coordinate and SHA-256, and no host: the resolver knows the
central repository. A jar is verified before it is renamed into place, so a path that exists is a verified jar,
and later calls need neither a resolver nor a network.

`python -m leadsman.java.jars lock [SET...]` writes the lock, or some of its sets, from the recipes;
`python -m leadsman.java.jars fetch [SET...]` fetches.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import LeadsmanError, UsageError
from leadsman.java.maven import local_repository, resolve, resolve_dependencies
from leadsman.java.recipes import RECIPES
from leadsman.run_folder import run_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from leadsman.java.recipes import Recipe

PARALLEL_DOWNLOADS = 8
"""Parallel downloads: many small files one after the other take longer."""

DOWNLOAD_ATTEMPTS = 3
"""One connection reset must not fail a set-up of ninety files."""


class JarNotFetched(LeadsmanError):
    """A jar is not in the cache, and the repository did not deliver it."""


@dataclass(frozen=True, slots=True)
class Jar:
    """One line of the lock. `coordinate` is group:artifact:version, `sha256` is in hexadecimal."""

    coordinate: str
    sha256: str

    @property
    def name(self) -> str:
        """The file's name, as every Java tool expects it: artifact-version.jar."""
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"

    @property
    def path(self) -> Path:
        """Where the verified jar is kept. The hash is in it, so another build of the same version is another file."""
        return cache_folder() / "jars" / self.sha256[:16] / self.name


def cache_folder() -> Path:
    """Return the folder for files that can be fetched or made again: below XDG_CACHE_HOME, else below ~/.cache."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "leadsman"


def jar_sets(text: str | None = None) -> dict[str, tuple[Jar, ...]]:
    """Return the sets of the lock that ships with the package, or of `text`."""
    if text is None:
        text = resources.files("leadsman.java").joinpath("jars.lock").read_text(encoding="utf-8")
    sets: dict[str, list[Jar]] = {}
    current: list[Jar] = []
    for line in text.splitlines():
        if line.startswith("["):
            current = sets.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            current.append(Jar(*line.split()))
    return {name: tuple(jars) for name, jars in sets.items()}


def fetch_jars(name: str) -> list[Path]:
    """Return the paths of a set's jars, in the lock's order, fetching those that are not there yet."""
    sets = jar_sets()
    if name not in sets:
        raise UsageError(f"No set of jars is called {name}. There are: {', '.join(sets)}.")
    missing = [jar for jar in sets[name] if not jar.path.exists()]
    if missing:
        with ThreadPoolExecutor(PARALLEL_DOWNLOADS) as pool:
            list(pool.map(_fetch_one, missing))
    return [jar.path for jar in sets[name]]


def _fetch_one(jar: Jar) -> None:
    jar.path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=jar.path.parent) as scratch:
        source = _maven_copy(jar) or _download(jar, Path(scratch) / "repository")
        ready = Path(scratch) / jar.name
        shutil.copyfile(source, ready)
        ready.replace(jar.path)


def _maven_copy(jar: Jar) -> Path | None:
    """Return the jar from the user's Maven repository, if it is there with the right SHA-256."""
    group, artifact, version = jar.coordinate.split(":")
    path = local_repository() / group.replace(".", "/") / artifact / version / jar.name
    return path if path.is_file() and sha256_of(path) == jar.sha256 else None


def _download(jar: Jar, repository: Path) -> Path:
    reason = ""
    for attempt in range(DOWNLOAD_ATTEMPTS):
        try:
            path = resolve(jar.coordinate, repository / str(attempt))
        except (OSError, RuntimeError) as error:
            reason = f"{type(error).__name__}: {error}"
            continue
        if sha256_of(path) == jar.sha256:
            return path
        reason = f"the downloaded file has another SHA-256 ({sha256_of(path)}) than jars.lock"
    raise JarNotFetched(
        f"Could not fetch {jar.coordinate}: {reason}. Its place is {jar.path}. "
        "Try again with a network, or copy a filled cache (`python -m leadsman.java.jars fetch` fills it)."
    )


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_lock(names: Collection[str] = ()) -> str:
    """Return the text of a new lock: recipes resolved, jars fetched and hashed. Takes a minute.

    With `names`, only those sets are resolved again; all others are copied from the lock that ships with the package.
    """
    existing = jar_sets() if names else {}
    with run_folder() as scratch:
        sections = [
            _section(
                name,
                existing[name] if name in existing and name not in names else _resolve_set(name, recipe, scratch),
            )
            for name, recipe in RECIPES.items()
        ]
    return "# Made by `python -m leadsman.java.jars lock`. group:artifact:version sha256\n" + "".join(sections)


def _section(name: str, jars: Iterable[Jar]) -> str:
    return f"\n[{name}]\n" + "".join(f"{jar.coordinate} {jar.sha256}\n" for jar in jars)


def _resolve_set(name: str, recipe: Recipe, scratch: Path) -> list[Jar]:
    coordinates = {*resolve_dependencies(recipe.roots, scratch / f"{name}.env"), *recipe.alone}
    selected = sorted(coordinate for coordinate in coordinates if coordinate.rpartition(":")[0] not in recipe.without)
    return [Jar(coordinate, sha256_of(resolve(coordinate, scratch / "repository"))) for coordinate in selected]


def main(arguments: list[str]) -> None:
    """Run `lock [SET...]` or `fetch [SET...]`."""
    match arguments:
        case ["lock", *names]:
            text = make_lock(names)
            Path(str(resources.files("leadsman.java").joinpath("jars.lock"))).write_text(text, encoding="utf-8")
        case ["fetch", *names]:
            for name in names or jar_sets():
                sys.stdout.write(f"{name}: {len(fetch_jars(name))} jars\n")
        case _:
            raise SystemExit("Usage: python -m leadsman.java.jars lock [SET...] | fetch [SET...]")


if __name__ == "__main__":
    main(sys.argv[1:])

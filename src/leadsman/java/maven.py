"""Maven repositories: downloads a jar by its coordinate, group:artifact:version, and resolves what jars depend on."""

from __future__ import annotations

from pathlib import Path

from leadsman.errors import MissingExtra
from leadsman.installation import install_command

NETWORK_SECONDS = 60
"""Timeout of a repository's response. The resolver's own 10 s are too short behind a company's proxy."""


def local_repository() -> Path:
    """Return the user's own repository, in which Maven and jgo keep what they downloaded."""
    return Path("~/.m2/repository").expanduser()


def resolve(coordinate: str, repository: Path) -> Path:
    """Download one jar into `repository`, a temporary folder: an interrupted resolver leaves an incomplete file."""
    try:
        from jgo.maven import MavenContext
    except ImportError as error:
        raise MissingExtra(f"Fetching jars needs jgo. Install it: {install_command('spark')}") from error
    group, artifact, version = coordinate.split(":")
    context = MavenContext(repo_cache=repository, timeout=NETWORK_SECONDS)
    return Path(context.project(group, artifact).at_version(version).artifact().resolve())


def resolve_dependencies(roots: tuple[str, ...], environment: Path) -> list[str]:
    """Resolve `roots` together. In a new folder: after a failed build jgo uses the incomplete one."""
    if not roots:
        return []
    import jgo

    built = jgo.build("+".join(roots), cache_dir=environment)
    names = {path.name for path in built.all_jars}
    return [_coordinate_from_path(path) for path in sorted(local_repository().rglob("*.jar")) if path.name in names]


def _coordinate_from_path(path: Path) -> str:
    """Read a coordinate back out of a path in a Maven repository: group/as/path/artifact/version/file."""
    parts = path.relative_to(local_repository()).parts
    return f"{'.'.join(parts[:-3])}:{parts[-3]}:{parts[-2]}"

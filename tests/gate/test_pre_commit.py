"""The hook in another repository: a commit with the four mistakes is refused, and accepted when they are mended."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from leadsman.catalogue import MODES

if TYPE_CHECKING:
    from collections.abc import Callable

CHECKOUT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
MISTAKES = {
    "src/main/resources/application.yml": "idle_disconnect/samples/lost_without_retry/broken-spring.yml",
    "src/main/java/Billing.java": "leaderless_partition/samples/commit_timeout_below_failover/broken.java",
    "orders/app.py": "producer_id_leak/samples/producer_per_record/broken-route.py",
    "deploy/99-kafka.conf": "stale_neighbour/samples/neighbours_never_deleted/broken.conf",
}


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a program in a new repository, with a home and caches of its own."""
    own = {
        "HOME": str(tmp_path / "home"),
        "PRE_COMMIT_HOME": str(tmp_path / "cache"),
        "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "a developer",
        "GIT_CONFIG_KEY_1": "user.email",
        "GIT_CONFIG_VALUE_1": "developer@example.com",
    }
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "PRE_COMMIT"))} | own
    (tmp_path / "home").mkdir()
    (tmp_path / "service").mkdir()

    def running(*words: object, folder: Path = tmp_path / "service") -> subprocess.CompletedProcess[str]:
        command = [str(word) for word in words]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    return running


def write(service: Path, kind: str) -> None:
    """Write the four files of a service, with the mistakes or without them."""
    for target, sample in MISTAKES.items():
        (service / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(MODES / sample.replace("broken", kind), service / target)


def published(run: Callable[..., subprocess.CompletedProcess[str]], folder: Path) -> str:
    """Return the three lines of docs/gate.md, with this state of leadsman as the repository."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", folder=CHECKOUT).stdout.splitlines()
    for name in (
        each for each in listed if each.startswith(("src/", "packages/", "pyproject", "README", "LICENSE", "."))
    ):
        if (CHECKOUT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CHECKOUT / name, folder / name, follow_symlinks=False)
    for words in (["init", "-q"], ["add", "--all", "--force"], ["commit", "-q", "-m", "leadsman"]):
        assert run("git", *words, folder=folder).returncode == 0
    revision = run("git", "rev-parse", "HEAD", folder=folder).stdout.strip()
    return f"repos:\n  - repo: {folder}\n    rev: {revision}\n    hooks: [{{ id: leadsman-check }}]\n"


def of_this_installation(*_: object) -> str:
    """Return the hook with the program of this installation, which needs no network."""
    (hook,) = yaml.safe_load((CHECKOUT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    del hook["additional_dependencies"]
    return yaml.safe_dump({"repos": [{"repo": "local", "hooks": [hook | {"language": "system"}]}]})


@pytest.mark.parametrize(
    "configuration",
    [of_this_installation, pytest.param(published, marks=pytest.mark.long)],  # the latter installs from a registry
)
def test_a_commit_with_the_four_mistakes_is_refused_until_they_are_fixed(run, tmp_path: Path, configuration) -> None:
    service, leadsman = tmp_path / "service", tmp_path / "leadsman"
    leadsman.mkdir()
    (service / ".pre-commit-config.yaml").write_text(configuration(run, leadsman), encoding="utf-8")
    assert run("git", "init", "-q").returncode == 0
    assert run("pre-commit", "install").returncode == 0

    write(service, "broken")
    assert run("git", "add", "--all").returncode == 0
    refused = run("git", "commit", "-m", "A service with four mistakes")
    write(service, "healthy")
    assert run("git", "add", "--all").returncode == 0
    accepted = run("git", "commit", "-m", "The service without them")

    assert refused.returncode == 1
    assert "exit code: 1" in refused.stdout + refused.stderr
    assert all(f"{target}:" in refused.stdout + refused.stderr for target in MISTAKES)
    assert all(sample.split("/")[2] in refused.stdout + refused.stderr for sample in MISTAKES.values())
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    assert run("git", "log", "--format=%s").stdout.splitlines() == ["The service without them"]

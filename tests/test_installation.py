"""The command that installs an extra works today: from a checkout, from a wheel, from an index."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError
from typing import TYPE_CHECKING

import pytest

from leadsman import installation

if TYPE_CHECKING:
    from collections.abc import Callable


class RecordedOrigin:
    """A distribution with this direct_url.json (PEP 610), which an installation from an index does not have."""

    def __init__(self, origin: dict[str, object] | None) -> None:
        self._origin = origin

    def read_text(self, name: str) -> str | None:
        return json.dumps(self._origin) if self._origin and name == "direct_url.json" else None


@pytest.fixture
def install_as(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, object] | None], None]:
    def record(origin: dict[str, object] | None) -> None:
        monkeypatch.setattr(installation, "distribution", lambda _: RecordedOrigin(origin))

    return record


def test_a_checkout_is_set_up_by_make(install_as) -> None:
    install_as({"url": "file:///srv/lead%20s", "dir_info": {"editable": True}})

    assert installation.install_command("spark") == "make -C '/srv/lead s' setup"


def test_a_wheel_is_installed_again_with_the_extra(install_as) -> None:
    install_as({"url": "file:///tmp/leadsman-0.1.0-py3-none-any.whl", "archive_info": {}})

    assert installation.install_command("lab") == "python3 -m pip install '/tmp/leadsman-0.1.0-py3-none-any.whl[lab]'"


@pytest.mark.parametrize("origin", [None, {"url": "https://example.com/leadsman.git", "vcs_info": {}}])
def test_a_release_is_named(install_as, origin: dict[str, object] | None) -> None:
    install_as(origin)

    assert installation.install_command("java") == "python3 -m pip install 'leadsman[java]'"


def test_a_copy_that_was_not_installed_has_no_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(installation, "distribution", missing)

    assert installation.install_command("spark") == "python3 -m pip install 'leadsman[spark]'"

"""`leadsman dashboards` writes a folder for Grafana, and writes over nothing that is not its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_folder_is_grafanas_provisioning_folder(call, tmp_path: Path) -> None:
    result = call("dashboards", "--out", tmp_path / "new" / "grafana", "--exporter", "jmx", "--exporter", "client")

    folder = tmp_path / "new" / "grafana"
    assert result.code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "dashboards", "datasources"]
    assert json.loads((folder / "dashboards/leadsman/leadsman-overview.json").read_text())["title"].startswith("Kafka")


def test_what_is_not_covered_is_listed(call, tmp_path: Path) -> None:
    result = call("dashboards", "--out", tmp_path / "grafana", "--exporter", "client")

    assert "Not covered by client:" in result.out
    assert "leadsman:leaders" in result.out


def test_a_second_call_keeps_what_others_added(call, tmp_path: Path) -> None:
    folder = tmp_path / "grafana"
    call("dashboards", "--out", folder)
    (folder / "dashboards" / "mine.yml").write_text("apiVersion: 1\n")

    result = call("dashboards", "--out", folder)

    assert result.code == 0
    assert (folder / "dashboards" / "mine.yml").exists()


def test_a_folder_of_others_is_refused_and_left_as_it_is(call, tmp_path: Path) -> None:
    (tmp_path / "grafana.ini").write_text("")

    result = call("dashboards", "--out", tmp_path)

    assert result.code == 2
    assert "grafana.ini" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["grafana.ini"]


def test_a_file_is_no_folder(call, tmp_path: Path) -> None:
    (tmp_path / "grafana").write_text("")

    result = call("dashboards", "--out", tmp_path / "grafana")

    assert result.code == 2
    assert "--out" in result.err


def test_without_the_extra_the_command_that_installs_it_is_named(
    call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leadsman.cli.extras.find_spec", lambda _: None)

    result = call("dashboards", "--out", tmp_path / "grafana")

    assert result.code == 2
    assert "grafana_foundation_sdk" in result.err

"""The unit of systemd and the manifest of Kubernetes, as systemd and Kubernetes themselves check them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from leadsman.cli.group import group

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "leadsman-watch.service"
MANIFEST = ROOT / "deploy" / "kubernetes.yaml"
PROGRAM = "/opt/leadsman/bin/leadsman"


def test_systemd_finds_no_fault_in_the_unit(tmp_path: Path):
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("no systemd on this machine")
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace(PROGRAM, str(Path(sys.executable).with_name("leadsman"))))

    checked = subprocess.run([verify, "verify", str(unit)], capture_output=True, text=True, check=False)

    assert (checked.returncode, checked.stderr) == (0, "")


def test_kubernetes_finds_no_fault_in_the_manifest():
    documents = list(yaml.safe_load_all(MANIFEST.read_text()))

    for document in documents:
        kubernetes_validate.validate(document, "1.30", strict=True)

    assert [each["kind"] for each in documents] == ["Namespace", "Secret", "DaemonSet"]


def test_a_fault_in_the_manifest_would_be_found():
    *_, daemon_set = yaml.safe_load_all(MANIFEST.read_text())
    daemon_set["spec"]["template"]["spec"]["containers"][0]["liveness"] = {}

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(daemon_set, "1.30", strict=True)


def test_both_start_the_command_with_options_that_it_has():
    (start,) = [line for line in UNIT.read_text().splitlines() if line.startswith("ExecStart=")]
    *_, daemon_set = yaml.safe_load_all(MANIFEST.read_text())
    (container,) = daemon_set["spec"]["template"]["spec"]["containers"]
    command = group.get_command(None, "watch")  # type: ignore[arg-type]
    assert command is not None
    known = {flag for each in command.params for flag in each.opts}

    used = {word for word in (*start.split(), *container["command"], *container["args"]) if word.startswith("--")}

    assert used
    assert used <= known

"""leadsman-clients is a distribution of its own: it is built and imported without leadsman."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "packages" / "clients"

IMPORT_ALL = """
import importlib, importlib.util, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import leadsman_clients
for module in pkgutil.walk_packages(leadsman_clients.__path__, "leadsman_clients."):
    importlib.import_module(module.name)
assert importlib.util.find_spec("leadsman") is None
with leadsman_clients.ExpiringProvider(list) as provider:
    print(leadsman_clients.__file__, provider.get())
"""


def test_the_wheel_is_imported_without_leadsman_or_any_other_package(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=PROJECT, check=True, capture_output=True, timeout=60)
    (wheel,) = tmp_path.glob("leadsman_clients-*.whl")

    isolated = [sys.executable, "-I", "-S", "-c", IMPORT_ALL, str(wheel)]  # without site-packages
    imported = subprocess.run(isolated, capture_output=True, text=True, timeout=60, check=False)

    assert imported.stderr == ""
    assert imported.stdout == f"{wheel}/leadsman_clients/__init__.py []\n"


def test_both_distributions_have_the_same_licence() -> None:
    licence = (PROJECT / "LICENSE").read_text(encoding="utf-8")

    assert licence == (ROOT / "LICENSE").read_text(encoding="utf-8")

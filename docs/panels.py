"""Takes the pictures of docs/prevention.md: the panels on the page of a recorded incident, in headless Chromium.

`python docs/panels.py` writes panels-MODE.png (starts Spark). No test compares pictures: fonts differ between machines.
"""  # noqa: INP001 - a script, no package

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from leadsman.catalogue import MODES

DOCS = Path(__file__).parent
RECORDINGS = {"producer_id_leak": "broken-java", "leaderless_partition": "broken-java-4.3.1"}
"""Incidents of which the lab also recorded what dashboards show."""

WIDTH, HEIGHT = 1000, 1200
PANELS = "section:has(> h4[id$='-panels'])"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
"""No sandbox, because containers run as root; they have neither GPU nor /dev/shm."""


def main() -> None:
    """Diagnose each recording and take the picture of its panels."""
    with tempfile.TemporaryDirectory() as folder:
        for mode, recording in RECORDINGS.items():
            _diagnose(MODES / mode / "recorded" / recording, mode, Path(folder) / mode)
            _photograph(Path(folder) / mode / "report.html", DOCS / f"panels-{mode}.png")


def _diagnose(capture: Path, mode: str, out: Path) -> None:
    command = [sys.executable, "-m", "leadsman", "diagnose", str(capture), "--mode", mode, "--out", str(out)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 1:
        sys.exit(f"{mode} is not PRESENT in {capture}: exit code {done.returncode}")


def _photograph(page: Path, picture: Path) -> None:
    named = os.environ.get("LEADSMAN_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=named, args=ARGUMENTS)
        tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        tab.goto(page.as_uri())
        tab.locator(PANELS).first.screenshot(path=picture)
        browser.close()
    sys.stderr.write(f"{picture}: {picture.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()

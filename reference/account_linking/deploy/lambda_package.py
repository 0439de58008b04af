"""Builds the Lambda package of receiver, fan-out, requester and sweeper: one ZIP file for x86_64 Linux.

    python reference/account_linking/deploy/lambda_package.py [--out FILE] [--python 3.13]

The libraries are those of lambda.lock, by their hashes. boto3 is left out: Lambda's own Python has it. The Spark jobs
and the demo are left out too.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

DEPLOY = Path(__file__).resolve().parent
ROOT = DEPLOY.parents[2]
PLATFORM = "x86_64-manylinux_2_28"
"""Lambda's Python 3.12 and later run on Amazon Linux 2023, which has glibc 2.34."""

MAX_BYTES = 20_000_000
"""A larger package starts more slowly: Lambda loads it in every cold start. The console shows no code above 3 MB."""

LEFT_OUT = ("__pycache__", "tests", "bin", "*.pyi", "*.pyc", "demo", "direct_url.json", "uv_cache.json")
STAMP = (2020, 1, 1, 0, 0, 0)
"""Every file's time, so that equal content is an equal file."""

SOURCES = {
    "account_linking": ROOT / "reference/account_linking/src/account_linking",
    "leadsman_clients": ROOT / "packages/clients/src/leadsman_clients",
}


def main() -> int:
    """Build the package; 1 if it is too large."""
    options = _arguments()
    with tempfile.TemporaryDirectory(prefix="lambda-package-") as name:
        content = Path(name)
        install_libraries(content, options.python)
        copy_sources(content)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_zip(content, options.out)
    size = options.out.stat().st_size
    sys.stdout.write(f"{options.out}: {size / 1e6:.1f} MB, for Python {options.python} on x86_64\n")
    if size > MAX_BYTES:
        sys.stderr.write(f"That is more than {MAX_BYTES / 1e6:.0f} MB.\n")
    return int(size > MAX_BYTES)


def install_libraries(content: Path, python: str) -> None:
    """Install the libraries of lambda.lock for Lambda's platform."""
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--only-binary", ":all:", "--target", str(content), "--requirements", str(DEPLOY / "lambda.lock")]
    if subprocess.run([*command, "--python-version", python, "--python-platform", PLATFORM], check=False).returncode:
        raise SystemExit("The libraries of lambda.lock were not installed. Is the package registry in reach?")


def copy_sources(content: Path) -> None:
    """Copy the application without its Spark jobs, and leadsman_clients."""
    for name, source in SOURCES.items():
        shutil.copytree(source, content / name, ignore=shutil.ignore_patterns(*LEFT_OUT, "tables"))


def write_zip(content: Path, out: Path) -> None:
    """Write all files but those LEFT_OUT, in the order of their names."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(content.rglob("*")):
            relative = path.relative_to(content)
            if path.is_file() and not any(Path(part).match(each) for part in relative.parts for each in LEFT_OUT):
                info = zipfile.ZipInfo(relative.as_posix(), STAMP)
                info.external_attr = 0o644 << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, path.read_bytes(), compresslevel=9)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Build the Lambda package of the account-linking application.")
    parser.add_argument("--out", type=Path, default=Path("build/account-linking-lambda.zip"))
    parser.add_argument("--python", default="3.13", help="the version of Lambda's runtime")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())

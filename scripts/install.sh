#!/usr/bin/env bash
# Makes .venv with exactly what requirements.lock names, and the distributions of this tree in it.
set -eu
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
say() { printf '%s\n' "setup: $*" >&2; }

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
  say "needs Python 3.11 or newer; found $("$python" --version 2>&1 || echo none). Set PYTHON=/path/to/python3."
  exit 2
}

# Debian and Ubuntu ship Python without venv: the one package that cannot come from the lock.
if [ ! -x .venv/bin/python ] && ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  say "Python has no venv module"
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing python3-venv"
    apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null
  else
    say "install it first: sudo apt-get install python3-venv"
    exit 2
  fi
fi

if [ ! -x .venv/bin/python ]; then
  say "making .venv"
  "$python" -m venv .venv
fi
if ! .venv/bin/uv --version >/dev/null 2>&1; then
  say "installing uv"
  # A .venv that uv made has no pip.
  .venv/bin/python -m pip --version >/dev/null 2>&1 || .venv/bin/python -m ensurepip >/dev/null
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r scripts/installer.lock
fi

# Compiled now, as Python may be told not to do it later (PYTHONDONTWRITEBYTECODE, in most container images): then each
# start of leadsman would compile its modules again, for seconds.
say "installing what requirements.lock names"
# --inexact: uv and pip themselves stay.
.venv/bin/uv pip install --quiet --compile-bytecode --python .venv --require-hashes -r requirements.lock
.venv/bin/uv pip install --quiet --python .venv --no-deps --no-build-isolation --editable . --editable packages/clients \
  --editable reference/account_linking
.venv/bin/python -m compileall -q src packages/clients/src reference/account_linking/src

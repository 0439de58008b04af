#!/usr/bin/env bash
# Sees to it that the machine has the two programs that tests need and no Python package brings: a Chromium to open the
# report page in, and ripgrep, the peer that the reader is measured against. A machine that cannot have one is told so in
# one line; the tests that need it then fail.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "setup: $*" >&2; }

has() {
  for name in "$@"; do
    if [ -n "$name" ] && command -v "$name" >/dev/null; then return 0; fi
  done
  return 1
}

need() { # PACKAGE WHAT-FAILS-WITHOUT
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing $1"
    if apt-get update -qq && apt-get install -y -qq --no-install-recommends "$1" >/dev/null; then return; fi
  fi
  say "no $1 here, so $2 will fail. Install it: sudo apt-get install $1"
}

has "${LEADSMAN_CHROMIUM:-}" chromium chromium-browser google-chrome || need chromium "the tests of the report page"
has .venv/bin/rg rg || need ripgrep "the tests of the benchmark"

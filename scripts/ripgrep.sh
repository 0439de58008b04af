#!/usr/bin/env bash
# Sees to it that the machine has ripgrep, the peer that `make bench` measures the reader against.
set -eu
cd "$(dirname "$0")/.."
if command -v rg >/dev/null || [ -x .venv/bin/rg ]; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  printf 'setup: installing ripgrep\n' >&2
  apt-get update -qq && apt-get install -y -qq ripgrep >/dev/null && exit 0
fi
printf 'bench: no ripgrep here. Install one: sudo apt-get install ripgrep\n' >&2
exit 2

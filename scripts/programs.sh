#!/usr/bin/env bash
# Sees to it that the machine has the programs that tests need and no Python package brings: a Chromium to open the
# report page in, ripgrep, the peer that the reader is measured against, and Debian's Prometheus, Alertmanager and
# node_exporter for the alert rules. A machine that cannot have one is told so in one line; the tests that need it then fail.
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

MONITORING="prometheus promtool prometheus-alertmanager amtool prometheus-node-exporter"

# The programs alone, without the packages' services: installed, they would listen on ports of this machine.
unpack_prometheus() { # into .venv/bin
  scratch=$(mktemp -d)
  chmod 1777 "$scratch" # apt downloads as a user of its own
  trap 'rm -rf "$scratch"' EXIT
  say "unpacking prometheus, prometheus-alertmanager and prometheus-node-exporter into .venv/bin"
  [ "$(id -u)" != 0 ] || apt-get update -qq
  (cd "$scratch" && apt-get download -qq prometheus prometheus-alertmanager prometheus-node-exporter >/dev/null) || return 1
  for package in "$scratch"/*.deb; do dpkg-deb -x "$package" "$scratch/files" || return 1; done
  for program in $MONITORING; do
    install -m 755 "$scratch/files/usr/bin/$program" ".venv/bin/$program" || return 1
  done
  # Debian's Alertmanager reads its templates from this place alone, and does not start without them.
  templates=/usr/share/prometheus/alertmanager
  [ -d "$templates" ] || [ "$(id -u)" != 0 ] \
    || install -D -m 644 -t "$templates" "$scratch/files$templates"/*.tmpl
}

for program in $MONITORING; do
  if ! has ".venv/bin/$program" "$program"; then
    { command -v apt-get >/dev/null && unpack_prometheus; } \
      || say "no $program here, so the tests of the alert rules will fail. Install it: sudo apt-get install prometheus prometheus-alertmanager prometheus-node-exporter"
    break
  fi
done

#!/usr/bin/env bash
# Sees to it that the machine has a Chromium for the tests of the report page. A machine that cannot have one is told
# so in one line; the tests of the page then fail.
set -eu
for name in "${LEADSMAN_CHROMIUM:-}" chromium chromium-browser google-chrome; do
  if [ -n "$name" ] && command -v "$name" >/dev/null; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  printf 'setup: installing chromium\n' >&2
  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null && exit 0
fi
printf 'setup: no Chromium here: the tests of the report page will fail. Install one: sudo apt-get install chromium\n' >&2

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sh cmake/install_packages.sh SECTION...: installs those Debian packages of
# the sections of cmake/packages.txt that are missing. Says nothing if none is.
set -eu
list=$(dirname "$0")/packages.txt

# The packages of the sections, one per line.
wanted() {
  for section in "$@"; do
    awk -v want="[$section]" \
      '/^\[/ { on = ($0 == want); next } on && NF && !/^#/' "$list"
  done
}

missing=$(wanted "$@" | while read -r package; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || :)
  [ "$state" = installed ] || printf ' %s' "$package"
done)
[ -n "$missing" ] || exit 0

if ! command -v apt-get > /dev/null; then
  echo "needs Debian 12: there is no apt-get here" >&2
  exit 1
elif [ "$(id -u)" -eq 0 ]; then
  as_root=""
elif command -v sudo > /dev/null; then
  as_root=sudo
else
  echo "missing packages, and neither root nor sudo:$missing" >&2
  exit 1
fi
echo "== installing:$missing"
log=$(mktemp)
apt() {
  $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=120 -qq "$@"
}
# shellcheck disable=SC2086  # a list of words
if ! { apt update && apt install -y --no-install-recommends $missing; } \
       > "$log" 2>&1; then
  grep -m 3 '^E: ' "$log" >&2 || tail -n 3 "$log" >&2
  echo "could not install:$missing (all of apt's words: $log)" >&2
  exit 1
fi
rm -f "$log"

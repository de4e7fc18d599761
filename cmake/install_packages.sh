#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sh cmake/install_packages.sh SECTION...: installs those Debian packages of
# the sections of cmake/packages.txt that are missing.
set -eu
list=$(dirname "$0")/packages.txt
missing=""
for section in "$@"; do
  for package in $(awk -v want="[$section]" \
      '/^\[/ { on = ($0 == want); next } on && NF && !/^#/' "$list"); do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || :)
    [ "$state" = installed ] || missing="$missing $package"
  done
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=""
elif command -v sudo > /dev/null; then
  as_root=sudo
else
  echo "missing packages, and neither root nor sudo:$missing" >&2
  exit 1
fi
echo "== installing:$missing"
log=$(mktemp)
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086  # a list of words
if ! { $as_root apt-get update -qq &&
       $as_root apt-get install -y -qq --no-install-recommends $missing; } \
       > "$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "could not install:$missing (see $log)" >&2
  exit 1
fi
rm -f "$log"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sh tests/install/package.sh BUILD_FOLDER: makes the Debian package there,
# installs it in a bare Debian 12 in BUILD_FOLDER/bare, and uses it there as
# people would: the tool, and programs in C++ and C built against it. As root.
# A folder that was built in before is packed as it was built, without CUDA.
set -eu
mkdir -p "$1"
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
bare=$build/bare
log=$build/package.log

step="start"
# Never removes what is mounted in it.
remove_bare() {
  umount "$bare/proc" 2>/dev/null || :
  rm -rf --one-file-system "$bare"
}
finish() {
  code=$?
  umount "$bare/proc" 2>/dev/null || :
  [ "$code" -eq 0 ] && return
  tail -n 40 "$log" >&2
  echo "package.sh: failed: $step (all of it: $log)" >&2
}
trap finish EXIT
begin() {
  step=$1
  echo "== $step"
}
logged() { "$@" >>"$log" 2>&1; }
inside() { chroot "$bare" env LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }
: >"$log"

begin "building the package"
release="-DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O2"
[ ! -f "$build/CMakeCache.txt" ] || release=""
# shellcheck disable=SC2086  # two arguments, or none
logged cmake -S . -B "$build" -G Ninja $release -DCMAKE_INSTALL_PREFIX=/usr \
  -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON \
  -DPONIENTE_BUILD_TESTS=OFF -DPONIENTE_BUILD_EXAMPLES=OFF
logged ninja -C "$build"
rm -f "$build"/poniente_*.deb
(cd "$build" && logged cpack)
package=$(echo "$build"/poniente_*.deb)
dpkg-deb --info "$package" | sed -n 's/^ \(Version\|Installed-Size\|Depends\)/  \1/p'

begin "making a bare system"
remove_bare
# shellcheck disable=SC2016  # apt's own variables
mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' \
  'Created-By: Packages' | awk '$2 == "bookworm" { print $1; exit }')
logged debootstrap --variant=minbase bookworm "$bare" "$mirror"
# Packages come from where this machine has them from.
rm -f "$bare/etc/apt/sources.list"
cp -a /etc/apt/. "$bare/etc/apt/"
cp /etc/resolv.conf /etc/hosts "$bare/etc/"
mount -t proc proc "$bare/proc" 2>>"$log" || :

begin "installing the package in it, and compilers"
cp "$package" "$bare/poniente.deb"
logged inside apt-get update
logged inside apt-get install -y --no-install-recommends /poniente.deb
logged inside poniente --version
logged inside apt-get install -y --no-install-recommends g++ cmake ninja-build

begin "using it"
mkdir "$bare/trial"
cp -r tests/install "$bare/trial/consumer"
cp -r examples/text examples/mixture.toml "$bare/trial/"
# shellcheck disable=SC2016  # expanded inside
logged inside sh -euxc '
  cd /trial
  test -s /usr/share/man/man1/poniente.1
  test -s /usr/share/bash-completion/completions/poniente
  for page in README.md docs/own_dataset.md examples/socket_dataset.cc \
    examples/mixture.toml examples/text/riddles.txt; do
    test -s /usr/share/doc/poniente/$page
  done
  for name in fables recipes; do poniente pack text/$name --out $name; done
  poniente pack text/riddles.txt --delimiter % --out riddles
  poniente verify fables
  poniente plan mixture.toml --steps 200
  cmake -S consumer -B build -G Ninja
  cmake --build build
  for program in consumer consumer_shared consumer_lto consumer_sanitized; do
    build/$program store-$program
  done
  build/c_consumer store-consumer
  CC=cc CXX=c++ sh consumer/pkg_config.sh /trial/consumer /trial
'

begin "removing it"
logged inside apt-get remove -y poniente
if left=$(cd "$bare/usr" && find bin include lib share -iname '*poniente*' | grep .); then
  echo "left behind: $left" >>"$log"
  false
fi
grep -h '^poniente 0' "$log" | sort | uniq -c
remove_bare
echo "== the package works: $package"

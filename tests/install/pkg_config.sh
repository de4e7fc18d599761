#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sh pkg_config.sh SOURCES WORK: builds the consumers with what pkg-config says,
# and the trainer of the installed tutorial as the tutorial says, and runs them.
# Environment: CC, CXX, PKG_CONFIG_PATH.
set -eu
sources=$1
cd "$2"
libraries=$(pkg-config --variable=libdir poniente)

# They would change how the user's own files see toml++.
if pkg-config --cflags poniente | grep -q TOML; then
  echo "poniente.pc hands on toml++'s flags" >&2
  exit 1
fi

# What pkg-config prints is a list of words.
# shellcheck disable=SC2046,SC2086
{
  "$CXX" -std=c++20 "$sources/consumer.cc" -o pc_shared \
    $(pkg-config --cflags --libs poniente) "-Wl,-rpath,$libraries"
  ./pc_shared pc-store-shared
  readelf -d pc_shared | grep -q 'NEEDED.*libponiente\.so'

  libs=$(pkg-config --static --libs poniente | sed 's/-lponiente\>//')
  "$CXX" -std=c++20 "$sources/consumer.cc" -o pc_static \
    $(pkg-config --cflags poniente) \
    "$(pkg-config --variable=archive poniente)" $libs
  ./pc_static pc-store-static
  if readelf -d pc_static | grep -q 'NEEDED.*libponiente'; then
    echo "pc_static needs the shared library" >&2
    exit 1
  fi

  "$CC" "$sources/c_consumer.c" -o pc_c \
    $(pkg-config --cflags --libs poniente_c) "-Wl,-rpath,$libraries"
  ./pc_c pc-store-shared
}

# The command is the tutorial's own line, with this compiler.
documents=$(pkg-config --variable=prefix poniente)/share/doc/poniente
cp "$documents/examples/train_minimal.cc" .
# shellcheck disable=SC2016  # expanded by eval
command=$(sed -n 's/^c++ /"$CXX" /p' "$documents/docs/tutorial.md")
eval "${command:?no line of docs/tutorial.md begins with c++}"
if LD_LIBRARY_PATH=$libraries ./train_minimal none.toml none 2>error; then
  echo "train_minimal trains on a file that is not there" >&2
  exit 1
fi
grep -q "train_minimal: .*'none.toml'" error

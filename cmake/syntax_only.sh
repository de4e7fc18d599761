#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A launcher of the compiler and of the linker: a source is only checked, nothing
# is linked, and what either would have written is an empty file.
set -eu
output="" previous="" compiles=""
for argument; do
  [ "$previous" != -o ] || output=$argument
  [ "$argument" != -c ] || compiles=1
  previous=$argument
done
[ -z "$compiles" ] || "$@" -fsyntax-only
: >"$output"

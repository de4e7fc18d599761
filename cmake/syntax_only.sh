#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A compiler launcher: the source is checked, and its object file is empty.
set -eu
"$@" -fsyntax-only
previous=""
for argument; do
  [ "$previous" != -o ] || : >"$argument"
  previous=$argument
done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs an example, if a program is named, and compares a page with it: every
# ```cpp block of the page must be part of the example's source (blanks at the
# beginnings of lines do not count), and the page must show what the program
# prints. If a section is named, only the blocks below its heading count, up to
# the next heading.
#
#   sh tests/examples/page_test.sh PAGE SOURCE [PROGRAM [SECTION]]
set -eu

page=$1
source=$2
section=${4:-}
if [ $# -ge 3 ]; then
  output=$("$3")
  echo "$output"
fi

awk -v section="$section" '
  { line = $0; sub(/^ +/, "", line) }
  FILENAME == ARGV[1] { text = text "\n" line; next }
  FNR == 1 { text = text "\n"; is_tested = section == "" }
  /^#+ / && section != "" && !inside {
    title = $0
    sub(/^#+ /, "", title)
    is_tested = title == section
  }
  /^```cpp$/ && is_tested { inside = 1; block = "\n"; first = FNR; next }
  /^```/ && inside {
    inside = 0
    ++blocks
    if (index(text, block) == 0) {
      printf "FAILED: the code at line %d of %s is not in %s:%s", first, FILENAME,
        ARGV[1], block
      wrong = 1
    }
    next
  }
  inside { block = block line "\n" }
  END {
    if (blocks < (section == "" ? 5 : 2)) {
      printf "FAILED: only %d blocks of code in the page\n", blocks
      wrong = 1
    }
    if (!wrong) printf "%d blocks of code are those of the example\n", blocks
    exit wrong
  }
' "$source" "$page"

if [ $# -ge 3 ] && ! grep -qxF -- "$output" "$page"; then
  echo "FAILED: $page does not show what the program prints" >&2
  exit 1
fi

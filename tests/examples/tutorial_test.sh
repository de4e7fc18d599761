#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every ```sh block of docs/tutorial.md, in order, in one shell, and compares
# what it prints with the block of output behind it; a block of commands without
# one must print nothing. In an output, `...` stands for any text, and a line `...`
# for any lines.
#
#   sh tests/examples/tutorial_test.sh SOURCE PONIENTE TRAIN_MINIMAL [PAGE]
set -eu

source=$(cd "$1" && pwd)
page=${4:-$source/docs/tutorial.md}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/checkout"
ln -s "$2" "$work/bin/poniente"
ln -s "$3" "$work/bin/train_minimal"
cp -R "$source/examples" "$work/checkout"

# What the reader types, with each block's output in a file of its own, and what
# the page shows: commands, shown.1, shown.2 ...
awk -v work="$work" '
  /^```/ && inside != "" { inside = ""; next }
  /^```sh$/ {
    inside = work "/commands"
    shown = work "/shown." ++blocks
    printf "" >shown
    printf "exec >%s/printed.%d 2>&1\n", work, blocks >inside
    next
  }
  /^```$/ && shown != "" { inside = shown; shown = ""; next }
  /^```/ { inside = "/dev/null"; next }
  inside != "" { print >inside }
  END { print blocks + 0 >(work "/blocks") }
' "$page"
blocks=$(cat "$work/blocks")
if [ "$blocks" -lt 10 ]; then
  echo "FAILED: only $blocks blocks of commands in $page" >&2
  exit 1
fi

code=0
(cd "$work/checkout" && PATH=$work/bin:$PATH LC_ALL=C sh -eu "$work/commands") ||
  code=$?

block=0
while [ "$block" -lt "$blocks" ] && [ -e "$work/printed.$((block + 1))" ]; do
  block=$((block + 1))
  awk '
    FILENAME == ARGV[1] { shown[++many] = $0; next }
    function fits(text, line,    parts, n, i, at) {
      n = split(line, parts, /\.\.\./)
      if (substr(text, 1, length(parts[1])) != parts[1]) return 0
      text = substr(text, length(parts[1]) + 1)
      if (n == 1) return text == ""
      for (i = 2; i < n; ++i) {
        at = index(text, parts[i])
        if (at == 0) return 0
        text = substr(text, at + length(parts[i]))
      }
      at = length(text) - length(parts[n])
      return at >= 0 && substr(text, at + 1) == parts[n]
    }
    # The page says that it leaves these out.
    /^poniente: steps? [0-9].*: (begins again|continues in a later epoch): / {
      next
    }
    {
      sub(/ +$/, "")  # the page has no blanks at the ends of lines
      while (next_line < many && shown[next_line + 1] == "...") {
        ++next_line
        skips = 1
      }
      if (next_line < many && fits($0, shown[next_line + 1])) {
        ++next_line
        skips = 0
      } else if (!skips && !wrong) {
        wrong = FNR
      }
    }
    END {
      while (next_line < many && shown[next_line + 1] == "...") ++next_line
      exit wrong || next_line < many
    }
  ' "$work/shown.$block" "$work/printed.$block" || {
    echo "FAILED: block $block of $page prints" >&2
    cat "$work/printed.$block" >&2
    echo '--- instead of' >&2
    cat "$work/shown.$block" >&2
    exit 1
  }
done
if [ "$code" -ne 0 ]; then
  echo "FAILED: a command of block $block of $page, with exit code $code" >&2
  cat "$work/printed.$block" >&2
  exit 1
fi
echo "$blocks blocks of commands print what the page shows"

# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The text of quickstart.sh, from packages of Debian. Folders: $made for all
# that it makes, $text and $stores below it.
: "${made:?}" "${text:?}" "${stores:?}"

# Packages that hold the text; unpacked below $made, not installed.
text_packages='dict-gcide manpages manpages-dev fortunes fortunes-min
  wamerican debian-policy developers-reference'

update_lists() {
  if [ "$(id -u)" -eq 0 ]; then apt-get update; else sudo apt-get update; fi
}

download() (
  cd "$made/packages" || exit
  # Without package lists, or with old ones, the second attempt succeeds.
  # shellcheck disable=SC2086  # one word per package
  apt-get download $text_packages ||
    { update_lists && apt-get download $text_packages; }
)

# sections FILE...: replaces each; a line "%" stands before each section, the
# title of which is underlined.
sections() {
  for file in "$@"; do
    awk 'NR > 1 {
        if (/^(\*\*+|==+|--+|~~+)$/ && last ~ /^[^ ]/) print "%"
        print last
      }
      { last = $0 }
      END { print last }' "$file" >"$file.new"
    mv "$file.new" "$file"
  done
}

unpack() {
  for package in "$made/packages"/*.deb; do
    dpkg-deb -x "$package" "$made/packages/root"
  done
  share=$made/packages/root/usr/share
  rm -rf "$text.new"
  mkdir -p "$text.new/manuals" "$text.new/fortunes" "$text.new/policy" \
    "$text.new/reference"
  # An entry of the dictionary begins in the first column after a blank line.
  gzip -dc <"$share/dictd/gcide.dict.dz" |
    awk 'blank && /^[^ \t]/ { print "%" } { print; blank = /^$/ }' \
      >"$text.new/dictionary"
  find "$share/man" -type f -path '*/man[1-8]/*.gz' \
    -exec cp -t "$text.new/manuals" {} +
  find "$share/games/fortunes" -type f ! -name '*.dat' \
    -exec cp -t "$text.new/fortunes" {} +
  # A word is a document, and so is a section of a handbook.
  sed 'a %' "$share/dict/american-english" >"$text.new/words"
  cp "$share"/doc/debian-policy/*.txt.gz "$text.new/policy"
  cp "$share"/developers-reference/*.txt.gz "$text.new/reference"
  find "$text.new" -name '*.gz' -exec gzip -d {} +
  sections "$text.new"/policy/* "$text.new"/reference/*
  rm -rf "$text" "$made/packages"
  mv "$text.new" "$text"
}

gather_text() {
  # Of a folder that an earlier version made, the words are one document.
  if [ -d "$text/reference" ] && head -n 2 "$text/words" | grep -qx %; then
    say 'is there'
    return
  fi
  rm -rf "$made/packages" "$stores/words" "$stores/policy" "$stores/reference"
  mkdir -p "$made/packages"
  logged download download
  logged unpack unpack
  printf '    from %s\n' "$(echo "$text_packages" | tr -s '\n ' ' ')" | wrap
}

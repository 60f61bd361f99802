#!/bin/bash
# locale_test.sh PROGRAM: runs it under German rules for numbers, of which a locale is made for it.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! localedef -i de_DE -f UTF-8 "$folder/de_DE.UTF-8" > "$folder/log" 2>&1; then
  echo "skipped: no locale can be made, for which the package locales is needed: $(head -n 1 "$folder/log")"
  exit 0
fi
# glibc drops the path of a locale that it found by LOCPATH, which LeakSanitizer reports.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
LOCPATH=$folder TENON_LOCALE=de_DE.UTF-8 "$1"

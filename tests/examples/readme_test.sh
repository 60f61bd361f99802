#!/bin/bash
# Every ```cpp block of a page stands in the example that the text before it names, but for indentation.
awk '
  function bare(line) { sub(/^ +/, "", line); return line "\n" }
  FNR == 1 { folder = FILENAME; sub(/[^\/]*$/, "", folder); pages[FILENAME] = 0 }
  match($0, /\([a-z_\/]+\.cc\)/) { source = folder substr($0, RSTART + 1, RLENGTH - 2) }
  /^```cpp$/ { inside = 1; block = "\n"; ++pages[FILENAME]; next }
  inside && /^```$/ {
    inside = 0
    text = "\n"
    while ((getline line < source) > 0) text = text bare(line)
    close(source)
    if (index(text, block) == 0) { print FILENAME ":" FNR ": not in " source ":" block; bad = 1 }
  }
  inside { block = block bare($0) }
  END {
    for (page in pages)
      if (pages[page] == 0) { print "no blocks in " page; bad = 1 }
    exit bad
  }' README.md examples/gallery/README.md

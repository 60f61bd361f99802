#!/bin/bash
# Every ```cpp block of README.md stands in the example that the text before it names, but for indentation.
awk '
  function bare(line) { sub(/^ +/, "", line); return line "\n" }
  match($0, /\(examples\/[a-z_]+\.cc\)/) { source = substr($0, RSTART + 1, RLENGTH - 2) }
  /^```cpp$/ { inside = 1; block = "\n"; ++blocks; next }
  inside && /^```$/ {
    inside = 0
    text = "\n"
    while ((getline line < source) > 0) text = text bare(line)
    close(source)
    if (index(text, block) == 0) { print "README.md:" NR ": not in " source ":" block; bad = 1 }
  }
  inside { block = block bare($0) }
  END {
    if (blocks == 0) print "no blocks in README.md"
    exit bad || blocks == 0
  }' README.md

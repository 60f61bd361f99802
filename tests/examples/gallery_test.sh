#!/bin/bash
# Each program of examples/gallery finds that its result is right, and prints what the page shows: the same
# words, and numbers within a hundredth, since levels of instructions round differently.
folder=examples/gallery
failed=0
shown=$(mktemp)
trap 'rm "$shown"' EXIT
for source in "$folder"/*.cc; do
  program=${source%.cc}
  awk -v link="(${source##*/})" '
    /^## / { here = index($0, link) }
    /^```$/ { inside = 0 }
    here && inside
    /^```text$/ { inside = 1 }' $folder/README.md > "$shown"
  [ -s "$shown" ] || { echo "$program: $folder/README.md shows no output" && failed=1; }
  said=$("$program") || { echo "$program ends with $?" && failed=1; }
  awk '
    function number(word) { return word ~ /^[(]?[-+]?[0-9.]+[,)]*$/ }
    function value(word) { gsub(/[(),]/, "", word); return word + 0 }
    function near(a, b) { return (a - b) ^ 2 <= (0.011 + 0.01 * (b < 0 ? -b : b)) ^ 2 }
    NR == FNR { expected[NR] = $0; count = NR; next }
    {
      same = split($0, is) == split(expected[FNR], wanted)
      for (k in wanted)
        same = same && (number(wanted[k]) && number(is[k]) ? near(value(is[k]), value(wanted[k])) : is[k] == wanted[k])
      if (!same) { print "instead of: " expected[FNR] "\nit prints:  " $0; wrong = 1 }
    }
    END { exit wrong || FNR != count }' "$shown" - <<< "$said" || { echo "$program: not as the page shows" && failed=1; }
done
exit $failed

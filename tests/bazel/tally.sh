#!/bin/bash
# tally.sh LOG TESTLOGS: counts the tests of which bazel's LOG tells; their own logs lie below TESTLOGS.
# Prints the levels at which programs ran, why others were skipped, and last "N passed, N failed, N skipped":
# test cases where a program counts them, else programs.
passed=0 failed=0 skipped=0
notes=$(mktemp)
trap 'rm -f "$notes"' EXIT
# Result lines read "//tests:base/types_test  (cached) PASSED in 0.1s".
while read -r target result; do
  target=${target#//}
  program_log=$2/${target/:/\/}/test.log  # of //:name a slash more, which does no harm
  case "$result" in
    *PASSED*) bad=0 ;;
    SKIPPED*)
      echo "skipped: not for this processor family" >> "$notes"
      skipped=$((skipped + 1))
      continue
      ;;
    *) bad=1 ;;
  esac
  read -r good bad skips < <(awk -F'|' -v bad="$bad" -v notes="$notes" '
    /^\[doctest\] test cases:/ { counted = 1; good += $2; failures += $3 }
    /^level: / { print >> notes }
    /^skipped: / && !bad { print >> notes; skips = 1 }
    END {
      if (failures > bad) bad = failures
      print (counted ? good + 0 : !bad && !skips), bad, skips + 0
    }' "$program_log" 2>/dev/null || echo "0 1 0")
  passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + skips))
done < <(grep -E '^//[^ ]+ +(\(cached\) )?(PASSED|FLAKY|FAILED|TIMEOUT|INCOMPLETE|NO STATUS|SKIPPED)' "$1")
echo "levels that ran: $(sed -n 's/^level: //p' "$notes" | sort -u | paste -sd, | sed 's/,/, /g')"
grep '^skipped: ' "$notes" | sort | uniq -c | sed -E 's/^ *([0-9]+) skipped: /skipped \1: /'
echo "$passed passed, $failed failed, $skipped skipped"

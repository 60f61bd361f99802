#!/bin/bash
# count_cases.sh TITLE DISPUTED PRESENT OPERATORS < LOG: counts the cases of which the tool's LOG tells, shows
# those that failed, and ends with "TITLE: N passed, N failed; N want operators without a header, N are
# disputed".
#
# DISPUTED is the list of disputed cases: tests/data/disputed_cases.txt states its form. PRESENT lists the
# cases that the tool was given, one path a line, and OPERATORS the operators that have headers. A case of
# DISPUTED has to fail as it says there: another failure fails, and so does a case that is present and passes.
awk -v title="$1" -v operators="$4" '
  function wants_operators_without_header(line, parts, n, name) {
    # The reason of a case that wants operators is ": model: not supported: " and a list: "operator ai.onnx.Abs
    # at opset 13; ...".
    if (!match(line, /: model: not supported: /)) return 0
    for (n = split(substr(line, RSTART + RLENGTH), parts, "; "); n; --n) {
      name = parts[n]
      if (!sub(/^operator /, "", name)) return 0
      sub(/ .*/, "", name)
      if (sub(/^ai\.onnx\.(.*\.)?/, "", name) && name in has) return 0
    }
    return 1
  }
  function last_of(path) { sub(/.*\//, "", path); return path }
  # The numbers of the entries of DISPUTED that speak of a case.
  function entries_of(path, found, n, list, k) {
    n = split(by_last[last_of(path)], list, " ")
    for (k = 1; k <= n; ++k)
      if (substr("/" path, length(path) + 1 - length(ending[list[k]])) == "/" ending[list[k]])
        found = found " " list[k]
    return found
  }
  # Whether a message is what an entry expects.
  function fits(want, got, number, range, bound, x) {
    number = "^-?[0-9]+(\\.[0-9]+)?(e[-+]?[0-9]+)?"
    while (want != "") {
      if (match(want, /^~/) && match(substr(want, 2), number)) {
        x = substr(want, 2, RLENGTH); want = substr(want, 2 + RLENGTH)
        bound[1] = x - 0.001 * (x < 0 ? -x : x); bound[2] = x + 0.001 * (x < 0 ? -x : x)
      } else if (match(want, /^\{[-0-9.e]+ to [-0-9.e]+\}/)) {
        range = substr(want, 2, RLENGTH - 2); want = substr(want, 1 + RLENGTH)
        split(range, bound, " to ")
      } else {
        if (substr(want, 1, 1) != substr(got, 1, 1)) return 0
        want = substr(want, 2); got = substr(got, 2)
        continue
      }
      if (!match(got, number)) return 0
      x = substr(got, 1, RLENGTH) + 0; got = substr(got, 1 + RLENGTH)
      if (x < bound[1] + 0 || x > bound[2] + 0) return 0
    }
    return got == ""
  }
  function show(text) { print "FAIL " text; ++bad }

  BEGIN { for (n = split(operators, names); n; --n) has[names[n]] }
  FILENAME == ARGV[1] {
    if (/^(#|$)/) next
    at = index($0, ": ")
    if (!at || last_of($1) == "") { show(ARGV[1] ", line " FNR ": no case, colon and message: " $0); next }
    ending[++entries] = substr($0, 1, at - 1)
    expected[entries] = substr($0, at + 2)
    chance[entries] = sub(/^by chance /, "", expected[entries])
    by_last[last_of(ending[entries])] = by_last[last_of(ending[entries])] " " entries
    next
  }
  FILENAME == ARGV[2] {
    if (!($0 in present)) cases[++given] = $0
    present[$0]
    next
  }
  /^FAIL / {
    ++said
    path = $2
    sub(/:$/, "", path)
    message = substr($0, length("FAIL " $2 " ") + 1)
    while ((at = index(message, path "/")) > 0)
      message = substr(message, 1, at - 1) substr(message, at + length(path) + 1)
    if (wants_operators_without_header($0)) { ++absent; next }
    n = split(entries_of(path), list, " ")
    met = 0
    for (k = 1; k <= n; ++k)
      if (fits(expected[list[k]], message)) { met = 1; seen[path, list[k]] }
    if (met) { ++doubtful; next }
    show(path ": " message)
    failed_otherwise[path]
    for (k = 1; k <= n; ++k) print "  disputed, and expected to say: " expected[list[k]]
  }
  /^[0-9]+ passed, [0-9]+ failed$/ { ended = 1; good = $1; failures = $3 }
  END {
    if (!ended) show("the tool did not come to an end: " $0)
    else if (failures != said + 0) show("the tool tells of " said + 0 " of its " failures " failures")
    for (c = 1; ended && c <= given; ++c) {
      n = split(entries_of(cases[c]), list, " ")
      for (k = 1; k <= n; ++k) {
        if ((cases[c], list[k]) in seen || chance[list[k]] || cases[c] in failed_otherwise) continue
        show(cases[c] ": passes, and is disputed: " expected[list[k]])
        --good
      }
    }
    print title ": " good + 0 " passed, " bad + 0 " failed; " absent + 0 \
      " want operators without a header, " doubtful + 0 " are disputed"
  }' "$2" "$3" /dev/stdin

#!/bin/bash
# Rows of tests/matrix run once for a state of the tree, failed and named ones again, and decide how it ends.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/tree/tests"
cp tests/matrix "$scratch/tree/tests/matrix"
cd "$scratch/tree" || exit 1
git init --quiet . && git add . || exit 1
export TENON_MATRIX_STATE=$scratch/state TENON_MATRIX_ROWS=$scratch/rows
cat > "$scratch/rows" << 'END'
ran() { echo "$1" >> ../ran; mkdir -p "${apart#--disk_cache=}"; }
good() { ran good; echo "with a line"; echo "3 passed, 0 failed, 1 skipped"; }
bad() { ran "bad $1"; echo "2 passed, 1 failed"; }
parts() { part good; part bad; part false; part echo "4 passed, 0 failed"; sum; }
none() { ran none; echo "skipped: no such processor"; }
row good 'a good row' good
row bad 'a bad | row' bad '$((1 + 1))'
row parts 'a row of parts' parts
row none 'one for other machines' none
row empty 'one without tests' echo "0 passed, 0 failed"
row crash 'one that crashes' eval 'ran crash; exit 7'
row liar 'one that fails silently' eval 'ran liar; echo "5 passed, 0 failed"; false'
row last 'another good row' eval 'ran last; echo "1 passed, 0 failed"'
END
status=0
# expect CODE RAN ARGUMENT…: tests/matrix ends with CODE, and says what stdin says; the rows RAN run.
expect() {
  local code
  cat > ../expected
  : > ../ran
  tests/matrix "${@:3}" > ../said 2>&1
  code=$?
  sed -E "s#$scratch/state/[0-9a-f]+/#STATE/#; s/ +[0-9]+\.[0-9]/ 0.0/" ../said | diff - ../expected || status=1
  [ "$code" = "$1" ] || { echo "ended with $code: tests/matrix ${*:3}"; status=1; }
  [ "$(paste -sd, ../ran)" = "$2" ] || { echo "ran: $(paste -sd, ../ran), expected: $2"; status=1; }
}
expect 0 "" --list << 'END'
good                 a good row
bad                  a bad | row
parts                a row of parts
none                 one for other machines
empty                one without tests
crash                one that crashes
liar                 one that fails silently
last                 another good row
END
expect 2 "" other <<< "tests/matrix has no row other; --list lists them"
expect 1 "good,bad 2,good,bad ,none,crash,liar,last" << 'END'
row                           what it gave                                                 minutes
good                 passed   3 passed, 0 failed, 1 skipped 0.0
bad                  failed   2 passed, 1 failed 0.0
  STATE/bad.log
parts                failed   9 passed, 2 failed, 1 skipped 0.0
  STATE/parts.log
none                 skipped  no such processor 0.0
empty                failed   0 passed, 0 failed 0.0
  STATE/empty.log
crash                failed   ended with 7 0.0
  STATE/crash.log
liar                 failed   5 passed, 0 failed 0.0
  STATE/liar.log
last                 passed   1 passed, 0 failed 0.0
END
# What has passed is kept, what failed is not, and caches of rows that passed are gone.
expect 1 "bad 2,good,bad ,crash,liar" << 'END'
row                           what it gave                                                 minutes
good                 passed   3 passed, 0 failed, 1 skipped 0.0 (before)
bad                  failed   2 passed, 1 failed 0.0
  STATE/bad.log
parts                failed   9 passed, 2 failed, 1 skipped 0.0
  STATE/parts.log
none                 skipped  no such processor 0.0 (before)
empty                failed   0 passed, 0 failed 0.0
  STATE/empty.log
crash                failed   ended with 7 0.0
  STATE/crash.log
liar                 failed   5 passed, 0 failed 0.0
  STATE/liar.log
last                 passed   1 passed, 0 failed 0.0 (before)
END
caches=$(cd ../state/*/ && echo *.cache)
[ "$caches" = "bad.cache crash.cache liar.cache parts.cache" ] || { echo "caches: $caches"; status=1; }
# A row that is named runs again; one that is not does not count.
expect 0 "good,last" last good << 'END'
row                           what it gave                                                 minutes
good                 passed   3 passed, 0 failed, 1 skipped 0.0
last                 passed   1 passed, 0 failed 0.0
END
# Another state of the tree, by a file that git does not know yet, has run nothing.
sed -i '/^row [^gl]/d; /^row liar/d' "$TENON_MATRIX_ROWS"
echo changed > new
expect 0 "good,last" << 'END'
row                           what it gave                                                 minutes
good                 passed   3 passed, 0 failed, 1 skipped 0.0
last                 passed   1 passed, 0 failed 0.0
END
git add new
expect 0 "" << 'END'
row                           what it gave                                                 minutes
good                 passed   3 passed, 0 failed, 1 skipped 0.0 (before)
last                 passed   1 passed, 0 failed 0.0 (before)
END
exit $status

#!/bin/bash
# What the tool says of itself, and of a level that is not present.
fail() {
  echo "$@"
  exit 1
}
tool=loader/tenon
said=$(env -u TENON_ARCH $tool --version) || fail "--version ends with $?"
present=$(sed -nE 's/^levels: (.*) \((.*) in force\)$/\1/p' <<< "$said")
[[ $said =~ ^tenon\ [0-9]+\.[0-9]+\.[0-9]+$'\n'compiler:\ (g|clang)\+\+\ [0-9]+\..*$'\n'levels:\ baseline ]] || fail "$said"
[ "$(sed -n 's/.*(\(.*\) in force)$/\1/p' <<< "$said")" = "${present##*, }" ] || fail "not the greatest level: $said"

for level in ${present//,/}; do
  said=$(TENON_ARCH=$level $tool --version) || fail "TENON_ARCH=$level ends with $?"
  [[ $said == *"levels: $present ($level in force)" ]] || fail "$said"
done

for arguments in "--version" "ops" "run none.onnx" ""; do
  said=$(TENON_ARCH=sse9 $tool $arguments 2>&1)
  status=$?
  [ $status -eq 2 ] || fail "'$arguments' ends with $status"
  [ "$said" = "tenon: TENON_ARCH: 'sse9' is none of the levels present: $present" ] || fail "$said"
done

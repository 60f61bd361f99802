#!/bin/bash
# Everything stands in the inline namespace of base/abi.hpp: a header or source that does not include it, if
# only through others, would open a namespace that is called TENON_ABI, and one that forgets it has names in
# common with units for other processors. Each includes abi.hpp or one that does, which makes all of them do
# so; target.hpp, which abi.hpp includes, has macros alone.
status=0
complain() {
  echo "$1:" "${@:2}"
  status=1
}
mapfile -t files < <(find -L include loader -name '*.hpp' -o -name '*.cc' | grep -v '/bin/' | sort)
[ ${#files[@]} -gt 500 ] || complain "only ${#files[@]} files"
mapfile -t alone < <(grep -LE '^#include "(tenon|loader)/.*\.hpp"' "${files[@]}" | grep -v '^include/tenon/base/target.hpp$')
[ ${#alone[@]} -eq 0 ] || complain "no header of the tree is included" "${alone[@]}"
bare=$(grep -nE '^ *(inline )?namespace tenon\b' "${files[@]}" | grep -v 'namespace tenon::TENON_ABI\b' |
  grep -v '^include/tenon/base/abi.hpp:')
[ -z "$bare" ] || complain "not in TENON_ABI" "$bare"
exit $status

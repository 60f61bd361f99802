#!/bin/bash
# embed.sh [--as NAME] FILE…: writes a .cc whose tenon::tool::embedded_headers(), or the function of the name, gives the
# files' texts, sorted by path. A path is
# what follows include/ or, for stand-ins of freestanding programs, loader/; xsimd's notice is NOTICE. Comments that
# are whole lines and that no printed text keeps are left out here already, for the size of the tool.
name=embedded_headers
if [ "$1" = --as ]; then
  name=$2
  shift 2
fi
printed() {
  case $1 in
    NOTICE) cat "$2" ;;
    xsimd/*) sed -E '/^ *\/\*/{:a; /\*\//!{N; ba}; /\*\/ *$/d}; /^ *\/\//d' "$2" ;;
    *) sed -E '/^ *\/\/([^/]|$)/d' "$2" ;;
  esac
}
cat <<'END'
// Written by loader/bazel/embed.sh.
#include "loader/tool/embedded_headers.hpp"

namespace tenon::TENON_ABI::tool {
namespace {
constexpr HeaderText headers[] = {
END
for file in "$@"; do
  path=$file
  case $path in
    */include/* | include/*) path=${path##*include/} ;;
    */loader/freestanding/* | loader/freestanding/*) path=freestanding/${path##*loader/freestanding/} ;;
    *NOTICE) path=NOTICE ;;
  esac
  printf '%s\t%s\n' "$path" "$file"
done | LC_ALL=C sort -u -t $'\t' -k 1,1 | while IFS=$'\t' read -r path file; do
  printf '{"%s", {R"_tenon_(' "$path"
  printed "$path" "$file"
  # The compiler would count for seconds.
  printf ')_tenon_", %d}},\n' "$(printed "$path" "$file" | wc -c)"
done
cat <<'END'
};
}  // namespace

END
if [ $name != embedded_headers ]; then
  echo "std::span<const HeaderText> $name();  // declared by whoever links it"
fi
echo "std::span<const HeaderText> $name() { return headers; }"
cat <<'END'

}  // namespace tenon::TENON_ABI::tool
END

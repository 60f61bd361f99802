#!/bin/bash
# embed.sh FILE…: writes a .cc whose tenon::tool::embedded_headers() gives the files' texts, sorted by path. A path is
# what follows include/ or, for stand-ins of freestanding programs, loader/; xsimd's notice is NOTICE.
cat <<'END'
// Written by loader/bazel/embed.sh.
#include "loader/tool/embedded_headers.hpp"

namespace tenon::tool {
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
  cat "$file"
  printf ')_tenon_", %d}},\n' "$(wc -c < "$file")"  # the compiler would count for seconds
done
cat <<'END'
};
}  // namespace

std::span<const HeaderText> embedded_headers() { return headers; }

}  // namespace tenon::tool
END

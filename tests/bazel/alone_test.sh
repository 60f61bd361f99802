#!/bin/bash
# Which headers share a unit in which each has to compile with its own includes.
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
mkdir -p "$folder/include/t"
header() { cat > "$folder/include/t/$1.hpp"; echo "t/$1.hpp" >> "$folder/wanted"; }
header base <<< 'struct Base {};  // Loose
inline int shared(int x) { return x; }'
header first <<< '#include "t/base.hpp"
#include <vector>
struct First { Base b; };'
header lacks_first <<< '#include "t/base.hpp"
#include <vector>
struct Second { First in_second; };'
header has_first <<< '#include "t/first.hpp"
struct Third { First in_third; };'
header lacks_vector <<< '#include "t/base.hpp"
inline int size(const auto& list) { return shared(list.size()); }'
header unrelated <<< '#include "t/base.hpp"
#include <vector>
struct Fourth { const char* text = "First"; Base base; };  // not First'
header loose <<< '#include "t/base.hpp"
#include <vector>
struct Loose {};'
said=$(cd "$folder" && awk -f "$OLDPWD/tests/bazel/alone.awk" common= wanted=wanted wanted include/t/*.hpp)
expected="t/base.hpp t/first.hpp t/has_first.hpp t/unrelated.hpp t/loose.hpp
t/lacks_first.hpp
t/lacks_vector.hpp"
[ "$said" = "$expected" ] || { echo "$said"; exit 1; }
said=$(cd "$folder" && awk -f "$OLDPWD/tests/bazel/alone.awk" common=t/first.hpp wanted=wanted wanted include/t/*.hpp)
grep -q 'lacks_first.* t/lacks_vector' <<< "$said" || { echo "after first.hpp: $said"; exit 1; }

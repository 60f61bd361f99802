#!/bin/bash
# arch_symbols_test.sh LIBRARY...: no object built for a level above the baseline may define a weak function that
# does not bear the level in its name. The linker keeps one copy of a weak function, so code that runs on every
# processor could end up with the copy that needs AVX-512.
tag='Avx2|Avx512|3avx|4avx2|4fma3|6avx512|7avx512|8avx512'  # Tenon's tags and xsimd's, as mangled names spell them
status=0
for library in "$@"; do
  case "$library" in
    *baseline*) continue ;;
  esac
  found=$(nm --defined-only "$library" 2>/dev/null | awk '$2 == "W" { print $3 }' | grep -vE "$tag" | sort -u)
  if [ -n "$found" ]; then
    status=1
    echo "$library:"
    echo "$found" | c++filt | cut -c1-200 | sed 's/^/  /'
  fi
done
exit $status

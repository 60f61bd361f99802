// Replaces the kernels of every level but TENON_ONLY_LEVEL in a build of that level alone; absent.sh gives
// each of their functions a stub. Code that refers to a kernel links this object, and with it the name of the
// present level, so that no stub is ever called.
#include <cstdio>
#include <cstdlib>

#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::simd {

const Level only_level = Level::TENON_ONLY_LEVEL;

}  // namespace tenon::TENON_ABI::simd

extern "C" [[noreturn]] void tenon_absent_kernel() {
  std::fputs("tenon: a kernel of a level that was left out of the build\n", stderr);
  std::abort();
}

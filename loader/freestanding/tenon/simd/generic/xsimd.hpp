// A stand-in: compiled models name xsimd with the namespace that encloses them.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/generic/vector_functions.hpp"

#if defined(TENON_WASM) || defined(TENON_GENERIC)
namespace xsimd {
using namespace tenon::simd::vectors;
}
#endif

// Batches in the compiler's vector types, by the names that xsimd's have.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/generic/vector_functions.hpp"

#if defined(TENON_WASM) || defined(TENON_GENERIC)
namespace tenon::TENON_ABI::simd {
namespace xsimd = vectors;
}
#endif

// Batches in the compiler's vector types, by the names that xsimd's have.
#pragma once

#include "tenon/simd/generic/vector_functions.hpp"

namespace tenon::TENON_ABI::simd {
namespace xsimd = vectors;
}

// A stand-in: compiled models name xsimd with the namespace that encloses them.
#pragma once

#include "tenon/simd/generic/vector_functions.hpp"

namespace xsimd {
using namespace tenon::simd::vectors;
}

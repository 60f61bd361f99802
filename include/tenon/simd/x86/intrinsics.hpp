// The compiler's intrinsics for the instructions that it may use.
#pragma once

#include "tenon/base/target.hpp"

#if defined(TENON_X86_64)
#if defined(__AVX2__)
#include <immintrin.h>
#else
#include <emmintrin.h>
#endif
#endif

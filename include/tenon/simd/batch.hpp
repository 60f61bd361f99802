// Vectors of one element type at one instruction-set level, by xsimd and intrinsics. Features that xsimd
// lacks (masked tails, shuffles, NaN-propagating extrema) use the instructions of a processor family (x86/,
// arm/), with a twin for any processor (generic/). No name here but max and min equals one of xsimd's free
// functions, because argument-dependent lookup would find both. Everything is a template on the level's tag
// or on the batch type, so that no function compiled with wide instructions can be shared with a narrower
// unit.
#pragma once

#include "tenon/simd/batch/arithmetic.hpp"
#include "tenon/simd/batch/byte_conversions.hpp"
#include "tenon/simd/batch/byte_products.hpp"
#include "tenon/simd/batch/byte_quarters.hpp"
#include "tenon/simd/batch/byte_shuffles.hpp"
#include "tenon/simd/batch/lane_products.hpp"
#include "tenon/simd/batch/memory.hpp"
#include "tenon/simd/batch/registers.hpp"
#include "tenon/simd/batch/shuffle.hpp"
#include "tenon/simd/properties.hpp"

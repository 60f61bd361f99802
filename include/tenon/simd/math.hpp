// Elementary functions of batch<float> and batch<double>. Call them qualified (simd::exp): xsimd has the same
// names.
//
// Greatest errors in units in the last place that tests/simd/math_test.cc allows over sweeps of the whole
// range, with or without FMA; the errors that it measured lie just below:
//
//                       float  double                           float  double
//   exp                  1.3    1.2      sinh                    2.2    1.8
//   log                  0.9    0.9      cosh                    1.7    1.7
//   tanh                 5.5    3.0      softplus                2.9    2.7
//   erf                  6.2    3.1      gelu (of the tail too)  8.0    9.5
//   sigmoid              2.7    2.4      mish                    4.7    4.3
//   expm1_negative       1.0    1.6      pow                     0.51   0.6
//   sin, cos             1.7    0.6      fmod, mod               exact
//   expm1                2.8    3.0      asin                    2.5    2.5
//   tan                  3.5    0.6      acos                    1.3    1.3
//   asinh, acosh, atanh  0.51   2.5      atan                    1.9    1.9
//
// Where mish or gelu is near the least normal number its error is counted in spacings of somewhat larger
// numbers. NaN gives NaN, and infinities, -0, denormals and overflow what C's functions give; gelu(-infinity)
// is 0, its limit.
#pragma once

#include "tenon/simd/math/activation.hpp"
#include "tenon/simd/math/common.hpp"
#include "tenon/simd/math/exp_log.hpp"
#include "tenon/simd/math/hyperbolic.hpp"
#include "tenon/simd/math/power.hpp"
#include "tenon/simd/math/trigonometric.hpp"

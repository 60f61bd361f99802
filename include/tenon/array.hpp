// Numerical programming with tensors: arithmetic, functions and slices, factories, random numbers, joins,
// rows and spans, output, files. array/eigen.hpp, which needs Eigen, is separate.
#pragma once

#include "tenon/array/arithmetic.hpp"
#include "tenon/array/csv.hpp"
#include "tenon/array/factory.hpp"
#include "tenon/array/iterate.hpp"
#include "tenon/array/join.hpp"
#include "tenon/array/mask.hpp"
#include "tenon/array/math.hpp"
#include "tenon/array/mdspan.hpp"
#include "tenon/array/npy.hpp"
#include "tenon/array/print.hpp"
#include "tenon/array/random.hpp"
#include "tenon/array/slice.hpp"

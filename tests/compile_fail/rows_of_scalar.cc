// Rows of a tensor without axes.
// expect: a scalar has no rows
#include "tenon/array/iterate.hpp"

using namespace tenon;

auto f(TensorView<const float, Shape<>> x) { return rows(x); }

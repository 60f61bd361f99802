// A matrix whose columns lie dense.
// expect: a column-major matrix is no tensor's row-major elements: to_tensor(m) copies them in order
#include "tenon/array/eigen.hpp"

using namespace tenon;

auto f(const Eigen::MatrixXf& m) { return view_of(m); }

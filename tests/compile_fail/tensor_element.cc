// A tensor of characters, which ONNX does not have.
// expect: T is none of the 26 element types
#include "tenon/tensor/tensor.hpp"

tenon::Tensor<char> f() { return {}; }

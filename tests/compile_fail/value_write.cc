// data() of a tensor whose type run time knows is for reading.
// expect: casts away qualifiers
#include "tenon/tensor/value.hpp"

using namespace tenon;

void f(const Tensor<float>& t) {
  AnyTensor shared(t);
  static_cast<float*>(shared.data())[0] = 7;
}

// The author of an operator takes an operand of a fixed type as another one.
// expect: Fill: parameter 2 of
// expect: compute is input k:
// expect: int64_t>
#include "tenon/op/framework/call.hpp"

using namespace tenon;

struct Fill {
  static constexpr op::Spec spec{.name = "Fill",
                                 .since = {1},
                                 .inputs = {{"input", "T"}, {"k", "tensor(int64)", op::optional}},
                                 .outputs = {{"output", "T"}},
                                 .types = {{"T", types::floats}}};
  static constexpr op::Attributes attributes{};

  constexpr void infer(op::Infer& i) const { i.out(0, i.dims(0)); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const int32_t> k, TensorView<T> y) const;
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

auto f(const Tensor<float>& x) { return Fill{}(x); }

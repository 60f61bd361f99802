// The author of an operator takes its operands in another order than its specification.
// expect: Fill: parameter 1 of
// expect: compute is input input:
// expect: TensorView<const T>
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
  void compute(TensorView<const int64_t> k, TensorView<const T> x, TensorView<T> y) const;
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

auto f(const Tensor<float>& x) { return Fill{}(x); }

// The author of an operator leaves an operand out.
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
  void compute(AnyView x, AnyOut y) const;
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

auto f(const Tensor<float>& x) { return Fill{}(x); }

// An attribute in a member of a type that files have no attributes of.
// expect: Fill: attribute size
// expect: has a member whose type
// expect: no attribute can have
#include "tenon/op/framework/call.hpp"
#include "tenon/op/framework/registry.hpp"

using namespace tenon;

struct Fill {
  int size = 0;

  static constexpr op::Spec spec{.name = "Fill",
                                 .since = {1},
                                 .inputs = {{"input", "T"}, {"k", "tensor(int64)", op::optional}},
                                 .outputs = {{"output", "T"}},
                                 .types = {{"T", types::floats}}};
  static constexpr op::Attributes attributes{op::attr("size", &Fill::size)};

  constexpr void infer(op::Infer& i) const { i.out(0, i.dims(0)); }
  void compute(AnyView x, AnyView k, AnyOut y) const;
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};

void f(Registry& registry) { register_operator<Fill>(registry); }

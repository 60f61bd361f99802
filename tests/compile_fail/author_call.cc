// An operator that is registered without operator().
// expect: Fill: has no
// expect: operator(), which
#include "tenon/op/framework/registry.hpp"

using namespace tenon;

struct Fill {
  static constexpr op::Spec spec{.name = "Fill",
                                 .since = {1},
                                 .inputs = {{"input", "T"}, {"k", "tensor(int64)", op::optional}},
                                 .outputs = {{"output", "T"}},
                                 .types = {{"T", types::floats}}};
  static constexpr op::Attributes attributes{};

  constexpr void infer(op::Infer& i) const { i.out(0, i.dims(0)); }
  void compute(AnyView x, AnyView k, AnyOut y) const;
};

void f(Registry& registry) { register_operator<Fill>(registry); }

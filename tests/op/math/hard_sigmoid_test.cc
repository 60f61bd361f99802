#include "tenon/op/math/hard_sigmoid.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("HardSigmoid: cases") {
  for (const op::HardSigmoid& op : {op::HardSigmoid{}, op::HardSigmoid{.alpha = 0.25f, .beta = 0.25f}})
    check_real_function(
        op, [&](double x) { return std::isnan(x) ? x : std::clamp(op.alpha * x + op.beta, 0.0, 1.0); },
        {0.5, 0, -4, 4, INFINITY, -INFINITY, NAN});
  for (int version : {1, 6, 22})
    check(stated<op::HardSigmoid>(version, {{"alpha", 0.25f}, {"beta", 0.25f}}), {t<float>({2}, {1, -0.5})},
          {t<float>({2}, {0.5, 0.125})});
  check_consumed_inputs<op::HardSigmoid>({t<float>({2}, {0.5, -4})}, t<float>({2}, {0.6f, 0}));
}
}  // namespace tenon

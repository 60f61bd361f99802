#include "tenon/op/math/softsign.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Softsign: cases") {
  check_real_function(op::Softsign{}, [](double x) { return x / (1 + std::fabs(x)); },
                      {0.5, 0, 1, -2, 1e-6, -1000, 3e38, INFINITY, -INFINITY, NAN});
  check(stated<op::Softsign>(1), {t<float>({}, {0})}, {t<float>({}, {0})});
  check_refused<op::Softsign>(1, {{"consumed_inputs", ints{0}}}, "has no attribute 'consumed_inputs'");
}
}  // namespace tenon

#include "tenon/op/math/affine.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Affine: cases") {
  const std::initializer_list<double> x = {1.5, 0, 1, -2, 0.25, INFINITY, -INFINITY, NAN};
  check_real_function(op::Affine{.alpha = 2, .beta = 0.5f}, [](double v) { return 2 * v + 0.5; }, x);
  check_real_function(op::Affine{}, [](double v) { return v; }, x);
  check(stated<op::Affine>(1, {{"alpha", 3.0f}, {"beta", -1.0f}}), {t<float>({2}, {1, 2})},
        {t<float>({2}, {2, 5})});
  check_refused<op::Affine>(1, {{"gamma", 1.0f}}, "has no attribute 'gamma'");
  CHECK((op::Affine{.alpha = 2, .beta = 1}(3.0f).item() == 7));
  Registry registry;
  registry.add<op::Affine>();
  CHECK(registry.find("", "Affine", 9).version == 1);
  CHECK(registry.find("", "Affine", 10).op_class == nullptr);
}
}  // namespace tenon

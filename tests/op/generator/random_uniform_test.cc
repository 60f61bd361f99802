#include "tenon/op/generator/random_uniform.hpp"

#include "tests/op/random.hpp"

namespace tenon {
using namespace test;

TEST_CASE("RandomUniform: numbers") {
  using R = op::RandomUniform;
  for (const R& op :
       {R{.seed = 1.0f, .shape = {100, 100}}, R{.dtype = 11, .high = 12, .low = 8, .shape = {10000}},
        R{.dtype = 10, .high = -2, .low = -6, .seed = 3.5f, .shape = {10, 1, 1000}},
        R{.dtype = 16, .high = 4, .shape = {10000}}}) {
    const Value out = run(op, {})[0];
    check_moments(out, dtype_from_onnx(op.dtype), (op.high + op.low) / 2, (op.high - op.low) / std::sqrt(12));
    int64_t outside = 0;
    for (int64_t k = 0; k < out.tensor().size(); ++k) {
      const double v = as_double(out.tensor().view(), k);
      outside += v < op.low || v > op.high;
    }
    CHECK(outside == 0);
  }
  // A seed's numbers are numpy's.
  check(R{.dtype = 11, .seed = 0.0f, .shape = {4}}, {},
        {t<double>({4}, {0.5488135039273248, 0.7151893663724195, 0.6027633760716439, 0.5448831829968969})},
        1e-15, 0);
  check(R{.dtype = 11, .high = 3, .low = -1, .seed = 0.0f, .shape = {2}}, {},
        {t<double>({2}, {1.1952540157092992, 1.860757465489678})}, 1e-15, 0);
  for (int version : {1, 22})
    check(stated<R>(version, {{"seed", 0.0f}, {"shape", ints{2, 1}}}), {},
          {t<float>({2, 1}, {0.5488135f, 0.71518934f})}, 1e-7, 0);
  const auto y = apply<R{.high = 4, .low = 4, .shape = {2}}>();
  CHECK((y.extents()[0] == 2 && y.view()[1] == 4));
}

TEST_CASE("RandomUniform: seeds, types, extents") { check_random<op::RandomUniform>(); }

}  // namespace tenon

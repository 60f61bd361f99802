#include "tenon/op/generator/random_uniform.hpp"

#include "tests/op/moments.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;
using R = op::RandomUniform;

TEST_CASE("RandomUniform: types and range") {
  for (const R& op :
       {R{.seed = 1.0f, .shape = {100, 100}}, R{.dtype = 11, .high = 12, .low = 8, .shape = {10000}},
        R{.dtype = 10, .high = -2, .low = -6, .seed = 3.5f, .shape = {10, 1, 1000}},
        R{.dtype = 16, .high = 4, .shape = {10000}}}) {
    const Value out = run(op, {})[0];
    CHECK(out.type() == Type(dtype_from_onnx(op.dtype)));
    const auto [mean, deviation] = moments(out);
    const double span = op.high - op.low;
    CHECK(std::abs(mean - (op.high + op.low) / 2) <= 0.02 * span);
    CHECK(std::abs(deviation - span / std::sqrt(12)) <= 0.02 * span);
    int64_t outside = 0;
    for (int64_t k = 0; k < out.tensor().size(); ++k) {
      const double v = as_double(out.tensor().view(), k);
      outside += v < op.low || v > op.high;
    }
    CHECK(outside == 0);
  }
}

TEST_CASE("RandomUniform: a seed's numbers are numpy's") {
  const Value unit =
      t<double>({4}, {0.5488135039273248, 0.7151893663724195, 0.6027633760716439, 0.5448831829968969});
  for (int version : {1, 22})
    check(R{.dtype = 11, .seed = 0.0f, .shape = {4}}, {}, {unit}, 1e-15, 0, version);
  check(R{.dtype = 11, .high = 3, .low = -1, .seed = 0.0f, .shape = {2}}, {},
        {t<double>({2}, {1.1952540157092992, 1.860757465489678})}, 1e-15, 0);
  check(stated<R>(1, {{"seed", 0.0f}, {"shape", ints{2, 1}}}), {},
        {t<float>({2, 1}, {0.5488135f, 0.71518934f})}, 1e-7, 0);
  const R free{.shape = {3}};
  CHECK(run(free, {})[0].view<float>()[0] != run(free, {})[0].view<float>()[0]);
  CHECK_FALSE(R::spec.deterministic);
}

TEST_CASE("RandomUniform: edges, refused") {
  CHECK(run(R{}, {})[0].tensor().rank() == 0);
  CHECK(run(R{.shape = {3, 0}}, {})[0].tensor().size() == 0);
  check_fails(R{.shape = {-3}}, {}, "extent: -3, expected at least 0");
  check_fails(R{.dtype = 9, .shape = {2}}, {}, "output cannot be tensor(bool)");
  check_fails(R{.dtype = 16, .shape = {2}}, {}, "output cannot be tensor(bfloat16)", 1, 1);
  check_refused<R>(1, {}, "'shape' is required");
  CHECK(infer(R{.dtype = 11, .shape = {2, 3}}, {})[0].dims == Dims{2, 3});
  const auto y = apply<R{.high = 4, .low = 4, .shape = {2}}>();
  CHECK(y.extents()[0] == 2);
}
}  // namespace tenon

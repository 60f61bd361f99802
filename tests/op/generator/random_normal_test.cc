#include "tenon/op/generator/random_normal.hpp"

#include "tests/op/moments.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;
using R = op::RandomNormal;

TEST_CASE("RandomNormal: types, mean and scale") {
  for (const R& op :
       {R{.seed = 1.0f, .shape = {100, 100}}, R{.dtype = 11, .mean = 10, .scale = 0.5f, .shape = {10000}},
        R{.dtype = 10, .mean = -2, .scale = 3, .seed = 3.5f, .shape = {10, 1, 1000}},
        R{.dtype = 16, .scale = 2, .shape = {10000}}}) {
    const Value out = run(op, {})[0];
    CHECK(out.type() == Type(dtype_from_onnx(op.dtype)));
    CHECK(out.tensor().extents().size() == static_cast<std::size_t>(op.shape.size()));
    const auto [mean, deviation] = moments(out);
    CHECK(std::abs(mean - op.mean) <= 0.06 * op.scale);
    CHECK(std::abs(deviation - op.scale) <= 0.05 * op.scale);
  }
}

TEST_CASE("RandomNormal: a seed's numbers are numpy's") {
  const Value five = t<double>({5}, {1.764052345967664, 0.4001572083672233, 0.9787379841057392,
                                     2.240893199201458, 1.8675579901499675});
  for (int version : {1, 22})
    check(R{.dtype = 11, .seed = 0.0f, .shape = {5}}, {}, {five}, 1e-15, 0, version);
  check(stated<R>(1, {{"dtype", int64_t{11}}, {"seed", 0.0f}, {"shape", ints{5}}}), {}, {five}, 1e-15, 0);
  const R free{.shape = {3}};
  CHECK(run(free, {})[0].view<float>()[0] != run(free, {})[0].view<float>()[0]);
  CHECK_FALSE(R::spec.deterministic);
}

TEST_CASE("RandomNormal: edges, refused") {
  CHECK(run(R{}, {})[0].tensor().rank() == 0);
  CHECK(run(R{.shape = {0, 3}}, {})[0].tensor().size() == 0);
  check_fails(R{.shape = {2, -1}}, {}, "extent: -1, expected at least 0");
  check_fails(R{.dtype = 7, .shape = {2}}, {}, "output cannot be tensor(int64)");
  check_fails(R{.dtype = 16, .shape = {2}}, {}, "output cannot be tensor(bfloat16)", 1, 1);
  check_fails(R{.dtype = 0, .shape = {2}}, {}, "'dtype' is 0, which is no type");
  check_fails(R{.shape = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}, {}, "rank 17 is above 16");
  check_refused<R>(22, {}, "'shape' is required");
  CHECK(infer(R{.dtype = 10, .shape = {2, 3}}, {})[0].dims == Dims{2, 3});
  CHECK(infer(R{.dtype = 10, .shape = {2, 3}}, {})[0].type == Type(DType::float16));
  const auto y = apply<R{.mean = 4, .scale = 0, .shape = {2}}>();
  CHECK(y.extents()[0] == 2);
}
}  // namespace tenon

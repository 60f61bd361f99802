#include "tenon/op/generator/random_normal.hpp"

#include "tests/op/random.hpp"

namespace tenon {
using namespace test;

TEST_CASE("RandomNormal: numbers") {
  using R = op::RandomNormal;
  for (const R& op :
       {R{.seed = 1.0f, .shape = {100, 100}}, R{.dtype = 11, .mean = 10, .scale = 0.5f, .shape = {10000}},
        R{.dtype = 10, .mean = -2, .scale = 3, .seed = 3.5f, .shape = {10, 1, 1000}},
        R{.dtype = 16, .scale = 2, .shape = {10000}}})
    check_moments(run(op, {})[0], dtype_from_onnx(op.dtype), op.mean, op.scale);
  // A seed's numbers are numpy's.
  const Value five = t<double>({5}, {1.764052345967664, 0.4001572083672233, 0.9787379841057392,
                                     2.240893199201458, 1.8675579901499675});
  for (int version : {1, 22})
    check(stated<R>(version, {{"dtype", int64_t{11}}, {"seed", 0.0f}, {"shape", ints{5}}}), {}, {five}, 1e-15,
          0);
  const auto y = apply<R{.mean = 4, .scale = 0, .shape = {2}}>();
  CHECK((y.extents()[0] == 2 && y.view()[1] == 4));
}

TEST_CASE("RandomNormal: seeds, types, extents") { check_random<op::RandomNormal>(); }

}  // namespace tenon

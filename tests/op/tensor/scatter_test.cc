#include "tenon/op/tensor/scatter.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Scatter: cases") {
  const Value x = t<float>({1, 5}, {1, 2, 3, 4, 5}), i = t<int64_t>({1, 2}, {1, 3}),
              u = t<float>({1, 2}, {1.5, 2});
  for (int version : {9, 11}) {
    check(op::Scatter{.axis = 1}, {x, i, u}, {t<float>({1, 5}, {1, 1.5, 3, 2, 5})}, 0, 0, version);
    check(stated<op::Scatter>(version), {x, t<int32_t>({1, 2}, {0, -1}), u},
          {t<float>({1, 5}, {1.5, 2, 3, 4, 5})});
  }
  check_fails(op::Scatter{.axis = 1}, {x, t<int64_t>({1, 2}, {0, 5}), u}, "index 5 outside of [-5, 4]");
  check_fails(op::Scatter{.axis = -3}, {x, i, u}, "axis -3 outside");
  Registry registry;
  registry.add<op::Scatter>();
  CHECK(registry.find("", "Scatter", 10).version == 9);
  CHECK(registry.find("", "Scatter", 11).op_class == nullptr);
}

TEST_CASE("Scatter: symbols, typed") {
  const auto n = Dim::symbol(1);
  CHECK(infer(op::Scatter{},
              {info(DType::float32, {n, 2}), info(DType::int64, {}), info(DType::float32, {})})[0]
            .dims == Dims{n, 2});
  const Tensor<float, Shape<2>> x{1, 2};
  auto y = apply<op::Scatter{}>(x, Tensor<int64_t, Shape<1>>{1}, Tensor<float, Shape<1>>{9});
  CHECK(y[1] == 9);
}
}  // namespace tenon

#include "tenon/op/tensor/dynamic_slice.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("DynamicSlice: cases") {
  const Value x = t<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  check(op::DynamicSlice{}, {x, t<int64_t>({2}, {1, 0}), t<int64_t>({2}, {2, 3}), t<int64_t>({2}, {0, 1})},
        {t<float>({1, 3}, {5, 6, 7})});
  check(stated<op::DynamicSlice>(1), {x, t<int32_t>({1}, {1}), t<int32_t>({1}, {1000})},
        {t<float>({1, 4}, {5, 6, 7, 8})});
  check(op::DynamicSlice{}, {x, t<int64_t>({1}, {-3}), t<int64_t>({1}, {-1}), t<int64_t>({1}, {1})},
        {t<float>({2, 2}, {2, 3, 6, 7})});
  check_fails(op::DynamicSlice{}, {x, t<int64_t>({1}, {0}), t<int64_t>({1}, {1}), t<int64_t>({1}, {2})},
              "axis 2 outside");
  check_fails(op::DynamicSlice{}, {x, t<int64_t>({1}, {0}), t<int64_t>({2}, {1, 1})},
              "lengths of starts, ends");
  Registry registry;
  registry.add<op::DynamicSlice>();
  CHECK(registry.find("", "DynamicSlice", 9).version == 1);
  CHECK(registry.find("", "DynamicSlice", 10).op_class == nullptr);
}

TEST_CASE("DynamicSlice: symbols, typed") {
  const auto n = Dim::symbol(1);
  const auto l = DType::int64;
  CHECK(infer(op::DynamicSlice{}, {info(DType::float32, {5, n}), info(l, {1}, {1}), info(l, {1}, {3})})[0]
            .dims == Dims{2, n});
  auto y = op::DynamicSlice{}(Tensor<float, Shape<3>>{1, 2, 3}, constant<int64_t, 1>, constant<int64_t, 3>);
  CHECK(y[1] == 3);
}
}  // namespace tenon

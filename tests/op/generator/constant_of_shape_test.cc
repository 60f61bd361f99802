#include "tenon/op/generator/constant_of_shape.hpp"

#include "tests/op/movement.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ConstantOfShape: cases") {
  const Value shape = t<int64_t>({2}, {2, 3});
  check(op::ConstantOfShape{}, {shape}, {t<float>({2, 3}, {0, 0, 0, 0, 0, 0})});
  check(op::ConstantOfShape{.value = {t<float>({1}, {1.5})}}, {t<int64_t>({1}, {2})},
        {t<float>({2}, {1.5, 1.5})});
  check(op::ConstantOfShape{.value = {t<bool>({}, {true})}}, {t<int64_t>({1}, {2})},
        {t<bool>({2}, {true, true})});
  check(op::ConstantOfShape{.value = {t<int32_t>({1}, {7})}}, {t<int64_t>({0}, {})}, {t<int32_t>({}, {7})});
  check(op::ConstantOfShape{}, {t<int64_t>({2}, {0, 3})}, {t<float>({0, 3}, {})}, 0, 0, 9);
}

TEST_CASE("ConstantOfShape: every type") {
  const WithThreads threads;
  for_types(op::ConstantOfShape::spec.types[1], [&](DType d) {
    const Value one = pattern(d, {1}, 5);
    for (int64_t n : {1, 5, 400001}) {
      const Value y = run(op::ConstantOfShape{.value = {one}}, {t<int64_t>({1}, {n})})[0];
      check_moved(y.tensor(), one.tensor(), {n}, [](const Extents&) { return 0; });
    }
  });
}

TEST_CASE("ConstantOfShape: errors") {
  const Value shape = t<int64_t>({1}, {2});
  check_fails(op::ConstantOfShape{.value = {t<float>({2}, {1, 2})}}, {shape}, "value has 2 elements");
  check_fails(op::ConstantOfShape{.value = {t<std::string>({1}, {"a"})}}, {shape},
              "output cannot be tensor(string)");
  check_fails(op::ConstantOfShape{}, {t<int64_t>({1}, {-1})}, "extent: -1, expected at least 0");
  check_fails(op::ConstantOfShape{}, {t<int64_t>({}, {1})}, "input: rank 0, expected 1");
  check_fails(op::ConstantOfShape{}, {pattern(DType::int64, {17})}, "rank 17 is above 16");
  check_fails(op::ConstantOfShape{}, {t<int64_t>({2}, {INT64_MAX, INT64_MAX})}, "overflow");
}

TEST_CASE("ConstantOfShape: symbols and values") {
  const auto n = Dim::symbol(1);
  const auto l = DType::int64;
  CHECK(infer(op::ConstantOfShape{}, {info(l, {2}, {n, 3})})[0].dims == Dims{n, 3});
  CHECK(infer(op::ConstantOfShape{}, {info(l, {2})})[0].dims == Dims::of_rank(2));
  const auto unranked = infer(op::ConstantOfShape{.value = {t<int8_t>({1}, {1})}}, {info(l, {})})[0];
  CHECK((!unranked.dims.ranked() && unranked.type == Type(DType::int8)));
  const auto v =
      infer(op::ConstantOfShape{.value = {t<int64_t>({1}, {1})}}, {info(l, {1}, {3})})[0].propagated;
  CHECK((v.size() == 3 && v[2].is(1)));
  CHECK_FALSE(infer(op::ConstantOfShape{.value = {t<int64_t>({1}, {1})}}, {info(l, {1}, {65})})[0]
                  .propagated.known());
}
}  // namespace tenon

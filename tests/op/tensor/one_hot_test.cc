#include "tenon/op/tensor/one_hot.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("OneHot: cases") {
  const Value values = t<int32_t>({2}, {1, 3}), i = t<int64_t>({3}, {0, -1, 4});
  struct Row {
    int64_t axis;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {-1, {i, t<int64_t>({}, {3}), values}, t<int32_t>({3, 3}, {3, 1, 1, 1, 1, 3, 1, 1, 1})},
      {0, {i, t<int32_t>({1}, {2}), values}, t<int32_t>({2, 3}, {3, 1, 1, 1, 3, 1})},
      {-2,
       {t<float>({3}, {0.7f, -1, 4}), t<float>({}, {2.5f}), values},
       t<int32_t>({2, 3}, {3, 1, 1, 1, 3, 1})},
      {1, {t<uint8_t>({2, 1}, {1, 255}), t<double>({}, {2}), values}, t<int32_t>({2, 2, 1}, {1, 3, 1, 1})},
      {-1, {t<int64_t>({0}, {}), t<int64_t>({}, {2}), t<float>({2}, {0, 1})}, t<float>({0, 2}, {})},
      {-1,
       {cast<float16>({1}, {1}), cast<float16>({}, {2}), t<std::string>({2}, {"off", "on"})},
       t<std::string>({1, 2}, {"off", "on"})},
      {-1,
       {t<int64_t>({2}, {INT64_MIN, INT64_MAX}), t<int64_t>({}, {1}), values},
       t<int32_t>({2, 1}, {1, 1})},
  };
  for (const Row& row : rows) check(op::OneHot{.axis = row.axis}, row.in, {row.out});
  check(stated<op::OneHot>(11), rows[0].in, {rows[0].out});
  // Before 11 negative indices lie outside.
  const Value out = t<int32_t>({3, 3}, {3, 1, 1, 1, 1, 1, 1, 1, 1});
  for (const Value& x : {i, t<float>({3}, {0, -1, 4}), t<int32_t>({3}, {0, -1, 4})})
    check(stated<op::OneHot>(9), {x, t<int64_t>({}, {3}), values}, {out});
  check(stated<op::OneHot>(9, {{"axis", int64_t{0}}}), {i, t<int64_t>({}, {2}), values},
        {t<int32_t>({2, 3}, {3, 1, 1, 1, 1, 1})});
}

TEST_CASE("OneHot: every type of values and of indices") {
  for_types(op::OneHot::spec.types[2], [&](DType d) {
    const Value values = pattern(d, {2});
    check_moved(run(op::OneHot{}, {t<int64_t>({2}, {2, 0}), t<int64_t>({}, {3}), values})[0].tensor(),
                values.tensor(), {2, 3}, [](Extents i) { return i[1] == (i[0] ? 0 : 2); });
  });
  for_types(op::OneHot::spec.types[0], [&](DType d) {
    check(op::OneHot{}, {cast(d, {2}, {1, 0}), cast(d, {1}, {2}), t<bool>({2}, {false, true})},
          {t<bool>({2, 2}, {false, true, true, false})});
  });
}

TEST_CASE("OneHot: errors") {
  const Value i = t<int64_t>({1}, {0}), d = t<int64_t>({}, {2}), v = t<float>({2}, {0, 1});
  check_fails(op::OneHot{.axis = 2}, {i, d, v}, "axis 2 outside of [-2, 1]");
  check_fails(op::OneHot{}, {t<int64_t>({}, {1}), d, v}, "indices: rank 0, expected at least 1");
  check_fails(op::OneHot{}, {i, t<int64_t>({}, {0}), v}, "depth: 0, expected at least 1");
  check_fails(op::OneHot{}, {i, t<float>({}, {-3}), v}, "depth: -3, expected at least 1");
  check_fails(op::OneHot{}, {i, t<int64_t>({2}, {1, 1}), v}, "depth: (2), expected one element");
  check_fails(op::OneHot{}, {i, t<int64_t>({1, 1}, {1}), v}, "depth: rank 2, expected 0 or 1");
  check_fails(op::OneHot{}, {i, d, t<float>({3}, {0, 1, 2})}, "values: (3), expected off and on");
  check_fails(op::OneHot{}, {i, d, t<float>({}, {0})}, "values: rank 0, expected 1");
}

TEST_CASE("OneHot: symbols, typed") {
  const auto n = Dim::symbol(1);
  const auto f = DType::float32, l = DType::int64;
  CHECK(
      infer(op::OneHot{.axis = 0}, {info(l, {n, 2}), info(l, Dims::of_rank(0), {5}), info(f, {2})})[0].dims ==
      Dims{5, n, 2});
  CHECK(infer(op::OneHot{}, {info(l, {n}), info(f, Dims::of_rank(0)), info(f, {2})})[0].dims ==
        Dims{n, Dim()});
  auto y = op::OneHot{}(Tensor<int64_t, Shape<2>>{1, 0}, constant<int64_t, 2>, Tensor<float, Shape<2>>{0, 5});
  CHECK(y[1] == 5);
}
}  // namespace tenon

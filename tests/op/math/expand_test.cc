#include "tenon/op/math/expand.hpp"

#include "tests/op/movement.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Expand: cases") {
  const Value column = t<float>({2, 1}, {1, 2});
  struct Row {
    Value in, shape, out;
  } rows[] = {
      {column, t<int64_t>({2}, {2, 3}), t<float>({2, 3}, {1, 1, 1, 2, 2, 2})},
      {column, t<int64_t>({1}, {2}), t<float>({2, 2}, {1, 1, 2, 2})},
      {column, t<int64_t>({2}, {1, 1}), column},
      {column, t<int64_t>({0}, {}), column},
      {column, t<int64_t>({3}, {2, 1, 2}), t<float>({2, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2})},
      {column, t<int64_t>({2}, {1, 0}), t<float>({2, 0}, {})},
      {t<int8_t>({}, {5}), t<int64_t>({1}, {3}), t<int8_t>({3}, {5, 5, 5})},
      {t<int8_t>({}, {5}), t<int64_t>({0}, {}), t<int8_t>({}, {5})},
      {t<std::string>({1}, {"a"}), t<int64_t>({1}, {2}), t<std::string>({2}, {"a", "a"})},
  };
  for (const Row& row : rows) check(op::Expand{}, {row.in, row.shape}, {row.out});
}

TEST_CASE("Expand: a scalar that is known is one extent") {
  check_equal(run(op::Expand{}, {t<float>({2, 1}, {1, 2}), t<int64_t>({}, {3})})[0],
              t<float>({2, 3}, {1, 1, 1, 2, 2, 2}));
}

TEST_CASE("Expand: every type, against the definition") {
  const WithThreads threads;
  const struct {
    Extents extents, out;
  } rows[] = {{{3, 1, 5}, {3, 4, 5}}, {{5}, {3, 2, 5}},      {{1, 3, 1}, {7, 3, 9}}, {{1}, {17}},
              {{1}, {300000}},        {{300, 1}, {300, 700}}};
  for (const auto& row : rows)
    for_types(op::Expand::spec.types[0], [&](DType d) {
      const Value x = pattern(d, row.extents);
      const Tensor<int64_t> shape({row.out.size()}, row.out.begin(), row.out.end());
      check_moved(run(op::Expand{}, {x, shape})[0].tensor(), x.tensor(), row.out, [&](const Extents& index) {
        Extents from = row.extents;
        for (int a = 0; a < from.size(); ++a)
          from[a] = row.extents[a] == 1 ? 0 : index[a + index.size() - from.size()];
        return place(row.extents, from);
      });
    });
}

TEST_CASE("Expand: errors") {
  const Value x = t<float>({2}, {1, 2});
  check_fails(op::Expand{}, {x, t<int64_t>({1}, {3})}, "extents (2) and (3) do not broadcast");
  check_fails(op::Expand{}, {x, t<int64_t>({1}, {-1})}, "extent: -1, expected at least 0");
  check_fails(op::Expand{}, {x, t<int64_t>({}, {-1})}, "extent: -1, expected at least 0");
  check_fails(op::Expand{}, {x, pattern(DType::int64, {17})}, "rank 17 is above 16");
}

TEST_CASE("Expand: symbols, values, typed") {
  const auto n = Dim::symbol(1);
  const auto f = DType::float32, l = DType::int64;
  CHECK(infer(op::Expand{}, {info(f, {1, 3}), info(l, {2}, {n, 1})})[0].dims == Dims{n, 3});
  CHECK(infer(op::Expand{}, {info(f, {n, 3}), info(l, {2}, {n, 1})})[0].dims == Dims{n, 3});
  CHECK(infer(op::Expand{}, {info(f, {n, 3}), info(l, {3})})[0].dims.rank() == 3);
  CHECK_FALSE(infer(op::Expand{}, {info(f, {n, 3}), info(l, {})})[0].dims.ranked());
  CHECK_FALSE(infer(op::Expand{}, {info(f, {}), info(l, {1}, {2})})[0].dims.ranked());
  const auto v = infer(op::Expand{}, {info(l, {1}, {n}), info(l, {1}, {3})})[0].propagated;
  CHECK((v.size() == 3 && v[2].same(n)));
  auto y = op::Expand{}(Tensor<float, Shape<1>>{4}, constant<int64_t, 2, 2>);
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<2, 2>>>);
  CHECK(y(1, 1) == 4);
}
}  // namespace tenon

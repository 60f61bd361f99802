#include "tenon/op/tensor/gather.hpp"

#include "tests/op/movement.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Gather: cases") {
  const Value x = t<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  struct Row {
    int64_t axis;
    Value data, indices, out;
  } rows[] = {
      {0, x, t<int64_t>({2}, {2, 0}), t<float>({2, 2}, {5, 6, 1, 2})},
      {0, x, t<int32_t>({2}, {-1, -3}), t<float>({2, 2}, {5, 6, 1, 2})},
      {1, x, t<int64_t>({1, 3}, {1, 0, 1}), t<float>({3, 1, 3}, {2, 1, 2, 4, 3, 4, 6, 5, 6})},
      {-1, x, t<int64_t>({}, {1}), t<float>({3}, {2, 4, 6})},
      {-2, x, t<int64_t>({}, {1}), t<float>({2}, {3, 4})},
      {0, x, t<int64_t>({0}, {}), t<float>({0, 2}, {})},
      {0, t<float>({0, 2}, {}), t<int64_t>({0, 3}, {}), t<float>({0, 3, 2}, {})},
      {0, t<float>({2, 0}, {}), t<int64_t>({1}, {1}), t<float>({1, 0}, {})},
      {0, t<int64_t>({3}, {7, 8, 9}), t<int64_t>({}, {2}), t<int64_t>({}, {9})},
      {0, t<std::string>({2}, {"a", "b"}), t<int64_t>({3}, {1, 1, 0}), t<std::string>({3}, {"b", "b", "a"})},
  };
  for (const Row& row : rows) check(op::Gather{.axis = row.axis}, {row.data, row.indices}, {row.out});
  check(op::Gather{}, {x, t<int32_t>({1}, {1})}, {t<float>({1, 2}, {3, 4})}, 0, 0, 1);
}

TEST_CASE("Gather: every type, against the definition") {
  const WithThreads threads;
  const struct {
    Extents extents;
    int axis;
    int64_t count;
  } rows[] = {{{5, 3}, 0, 4},    {{5, 3}, 1, 7},     {{4, 5, 1}, 1, 3},
              {{3, 2, 7}, 1, 5}, {{50, 600}, 0, 70}, {{300, 50}, 1, 200}};
  for (const auto& row : rows)
    for_types(op::Gather::spec.types[0], [&](DType d) {
      const Value x = pattern(d, row.extents);
      Tensor<int32_t> indices(Extents{row.count});
      for (int64_t k = 0; k < row.count; ++k)
        indices[k] =
            static_cast<int32_t>((k * 7 + 3) % row.extents[row.axis] - (k % 2) * row.extents[row.axis]);
      Extents extents = row.extents;
      extents[row.axis] = row.count;
      const Value y = run(op::Gather{.axis = row.axis}, {x, indices})[0];
      check_moved(y.tensor(), x.tensor(), extents, [&](Extents index) {
        index[row.axis] = (index[row.axis] * 7 + 3) % row.extents[row.axis];
        return place(row.extents, index);
      });
    });
}

TEST_CASE("Gather: errors") {
  const Value x = t<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  check_fails(op::Gather{}, {x, t<int64_t>({1}, {3})}, "index 3 outside of [-3, 2]");
  check_fails(op::Gather{}, {x, t<int32_t>({2}, {0, -4})}, "index -4 outside of [-3, 2]");
  check_fails(op::Gather{}, {x, t<int64_t>({1}, {INT64_MIN})}, "outside of [-3, 2]");
  check_fails(op::Gather{}, {t<float>({0}, {}), t<int64_t>({1}, {0})}, "index 0 outside");
  check_fails(op::Gather{.axis = 2}, {x, t<int64_t>({1}, {0})}, "axis 2 outside of [-2, 1]");
  check_fails(op::Gather{}, {t<float>({}, {1}), t<int64_t>({1}, {0})}, "axis 0 outside");
  check_fails(op::Gather{}, {x, t<int16_t>({1}, {0})}, "indices cannot be tensor(int16)");
  const Value deep = pattern(DType::int64, Extents::filled(16, 1));
  check_fails(op::Gather{}, {x, deep}, "rank 17 is above 16");
}

TEST_CASE("Gather: symbols and values") {
  const auto n = Dim::symbol(1);
  const auto f = DType::float32, l = DType::int64;
  CHECK(infer(op::Gather{.axis = 1}, {info(f, {n, 2, 3}), info(l, {4, n})})[0].dims == Dims{n, 4, n, 3});
  CHECK_FALSE(infer(op::Gather{}, {info(f, {n, 2}), info(l, {})})[0].dims.ranked());
  CHECK_FALSE(infer(op::Gather{}, {info(f, {}), info(l, {1})})[0].dims.ranked());
  auto v = infer(op::Gather{}, {info(l, {3}, {1, n, 3}), info(l, {2}, {1, -1})})[0].propagated;
  CHECK((v.size() == 2 && v[0].same(n) && v[1].is(3)));
  v = infer(op::Gather{}, {info(l, {3}, {1, n, 3}), info(l, Dims::of_rank(0), {-2})})[0].propagated;
  CHECK((v.size() == 1 && v[0].same(n)));
  v = infer(op::Gather{}, {info(l, {3}, {1, n, 3}), info(l, {2}, {7, n})})[0].propagated;
  CHECK((v.size() == 2 && !v[0].known() && !v[1].known()));
  CHECK_FALSE(infer(op::Gather{}, {info(l, {3}, {1, n, 3}), info(l, {1})})[0].propagated.known());
}

TEST_CASE("Gather: typed") {
  const Tensor<float, Shape<3, 2>> x{{1, 2}, {3, 4}, {5, 6}};
  const Tensor<int64_t, Shape<2>> indices{2, 0};
  auto y = apply<op::Gather{}>(x, indices);
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<2, 2>>>);
  CHECK(y(0, 1) == 6);
}
}  // namespace tenon

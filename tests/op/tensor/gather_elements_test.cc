#include "tenon/op/tensor/gather_elements.hpp"

#include "tests/op/movement.hpp"

namespace tenon {
using namespace test;

TEST_CASE("GatherElements: cases") {
  const Value x = t<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  struct Row {
    int64_t axis;
    Value data, indices, out;
  } rows[] = {
      {1, t<float>({2, 2}, {1, 2, 3, 4}), t<int64_t>({2, 2}, {0, 0, 1, 0}), t<float>({2, 2}, {1, 1, 4, 3})},
      {0, x, t<int64_t>({2, 3}, {1, 2, 0, 2, 0, 0}), t<float>({2, 3}, {4, 8, 3, 7, 2, 3})},
      {0, x, t<int32_t>({2, 3}, {-1, -2, 0, -2, 0, 0}), t<float>({2, 3}, {7, 5, 3, 4, 2, 3})},
      {-2, x, t<int32_t>({1, 2}, {2, 1}), t<float>({1, 2}, {7, 5})},
      {-1, x, t<int64_t>({1, 4}, {2, 2, 0, -1}), t<float>({1, 4}, {3, 3, 1, 3})},
      {0, x, t<int64_t>({0, 3}, {}), t<float>({0, 3}, {})},
      {0, t<std::string>({2}, {"a", "b"}), t<int64_t>({3}, {1, 1, 0}), t<std::string>({3}, {"b", "b", "a"})},
  };
  for (const Row& row : rows) check(op::GatherElements{.axis = row.axis}, {row.data, row.indices}, {row.out});
}

TEST_CASE("GatherElements: every type, against the definition") {
  const WithThreads threads;
  const struct {
    Extents extents, indices;
    int axis;
  } rows[] = {{{5, 3}, {4, 3}, 0},
              {{5, 3}, {2, 7}, 1},
              {{4, 5, 2}, {3, 9, 1}, 1},
              {{4, 50}, {3, 77}, 1},
              {{200, 300}, {400, 299}, 0}};
  for (const auto& row : rows)
    for_types(op::GatherElements::spec.types[0], [&](DType d) {
      const Value x = pattern(d, row.extents);
      const int64_t extent = row.extents[row.axis];
      Tensor<int64_t> indices{std::span<const int64_t>(row.indices)};
      // The first row has no index below 0.
      const int64_t row_size = row.indices[row.indices.size() - 1];
      for (int64_t k = 0; k < indices.size(); ++k)
        indices[k] = (k * 7 + 3) % extent - (k >= row_size ? k % 2 * extent : 0);
      const Value y = run(op::GatherElements{.axis = row.axis}, {x, indices})[0];
      check_moved(y.tensor(), x.tensor(), row.indices, [&](Extents index) {
        index[row.axis] = (place(row.indices, index) * 7 + 3) % extent;
        return place(row.extents, index);
      });
    });
}

TEST_CASE("GatherElements: errors") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  check_fails(op::GatherElements{}, {x, t<int64_t>({1, 1}, {2})}, "index 2 outside of [-2, 1]");
  check_fails(op::GatherElements{}, {x, t<int64_t>({1, 1}, {-3})}, "index -3 outside of [-2, 1]");
  check_fails(op::GatherElements{}, {x, t<int64_t>({1}, {0})}, "ranks of (2,2) and indices (1) differ");
  check_fails(op::GatherElements{}, {x, t<int64_t>({1, 3}, {0, 0, 0})}, "reach beyond axis 1");
  check_fails(op::GatherElements{.axis = 2}, {x, t<int64_t>({1, 1}, {0})}, "axis 2 outside");
  check_fails(op::GatherElements{}, {t<float>({}, {1}), t<int64_t>({}, {0})}, "axis 0 outside");
}

TEST_CASE("GatherElements: symbols, typed") {
  const auto n = Dim::symbol(1);
  CHECK(infer(op::GatherElements{}, {info(DType::float32, {n, 2}), info(DType::int64, {4, n})})[0].dims ==
        Dims{4, n});
  CHECK(infer(op::GatherElements{}, {info(DType::float32, {n, 2}), info(DType::int64, {})})[0].dims ==
        Dims::of_rank(2));
  const Tensor<float, Shape<2>> x{1, 2};
  const Tensor<int32_t, Shape<3>> indices{1, 0, 1};
  auto y = apply<op::GatherElements{}>(x, indices);
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<3>>>);
  CHECK(y[2] == 2);
}
}  // namespace tenon

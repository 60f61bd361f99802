#include "tenon/op/tensor/gather_nd.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("GatherND: cases") {
  const Value m = t<int32_t>({2, 2}, {0, 1, 2, 3}), c = t<int32_t>({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  struct Row {
    int64_t batch;
    Value data, indices, out;
  } rows[] = {
      {0, m, t<int64_t>({2, 2}, {0, 0, 1, 1}), t<int32_t>({2}, {0, 3})},
      {0, m, t<int64_t>({2, 1}, {1, -2}), t<int32_t>({2, 2}, {2, 3, 0, 1})},
      {0, m, t<int64_t>({2}, {1, -1}), t<int32_t>({}, {3})},
      {0, c, t<int64_t>({2, 1, 2}, {0, 1, 1, 0}), t<int32_t>({2, 1, 2}, {2, 3, 4, 5})},
      {1, c, t<int64_t>({2, 1}, {1, 0}), t<int32_t>({2, 2}, {2, 3, 4, 5})},
      {1, c, t<int64_t>({2, 2, 1}, {1, 0, 0, -1}), t<int32_t>({2, 2, 2}, {2, 3, 0, 1, 4, 5, 6, 7})},
      {2, c, t<int64_t>({2, 2, 1}, {1, 0, 0, -1}), t<int32_t>({2, 2}, {1, 2, 4, 7})},
      {0, m, t<int64_t>({0, 1}, {}), t<int32_t>({0, 2}, {})},
      {0, t<int32_t>({2, 0}, {}), t<int64_t>({1, 1}, {1}), t<int32_t>({1, 0}, {})},
      {1, t<int32_t>({0, 2}, {}), t<int64_t>({0, 1}, {}), t<int32_t>({0}, {})},
      {0, t<std::string>({2}, {"a", "b"}), t<int64_t>({1, 1}, {1}), t<std::string>({1}, {"b"})},
  };
  for (const Row& row : rows)
    check(op::GatherND{.batch_dims = row.batch}, {row.data, row.indices}, {row.out});
  for (int version : {11, 12, 13})
    check(stated<op::GatherND>(version), {rows[0].data, rows[0].indices}, {rows[0].out});
}

TEST_CASE("GatherND: every type, with threads") {
  const WithThreads threads;
  const Extents in{2, 3, 50000};
  for_types(op::GatherND::spec.types[0], [&](DType d) {
    const Value x = pattern(d, in);
    check_moved(run(op::GatherND{.batch_dims = 1}, {x, t<int64_t>({2, 2, 1}, {2, 0, -2, -1})})[0].tensor(),
                x.tensor(), {2, 2, 50000}, [&](Extents i) {
                  const int64_t rows[] = {2, 0, 1, 2};
                  return place(in, {i[0], rows[i[0] * 2 + i[1]], i[2]});
                });
  });
}

TEST_CASE("GatherND: errors") {
  const Value m = t<float>({2, 2}, {1, 2, 3, 4}), i = t<int64_t>({1, 1}, {0});
  check_fails(op::GatherND{}, {m, t<int64_t>({1, 1}, {2})}, "index 2 outside of [-2, 1] on axis 0");
  check_fails(op::GatherND{}, {m, t<int64_t>({2}, {0, -3})}, "index -3 outside of [-2, 1] on axis 1");
  check_fails(op::GatherND{}, {m, t<int64_t>({3}, {0, 0, 0})}, "name 3 coordinates");
  check_fails(op::GatherND{}, {m, t<int64_t>({1, 0}, {})}, "coordinates in indices: 0, expected at least 1");
  check_fails(op::GatherND{}, {t<float>({}, {0}), i}, "data: rank 0, expected at least 1");
  check_fails(op::GatherND{}, {m, t<int64_t>({}, {0})}, "indices: rank 0, expected at least 1");
  check_fails(op::GatherND{.batch_dims = -1}, {m, i}, "batch_dims: -1");
  check_fails(op::GatherND{.batch_dims = 2}, {m, t<int64_t>({2, 2, 1}, {0, 0, 0, 0})}, "takes all of (2,2)");
  check_fails(op::GatherND{.batch_dims = 1}, {m, t<int64_t>({1}, {0})}, "takes all of indices (1)");
  check_fails(op::GatherND{.batch_dims = 1}, {m, i}, "extents of batches differ: 2 and 1");
  check_refused<op::GatherND>(11, {{"batch_dims", int64_t{1}}}, "has no attribute 'batch_dims'");
}

TEST_CASE("GatherND: symbols, typed") {
  const auto n = Dim::symbol(1);
  const auto f = DType::float32, l = DType::int64;
  CHECK(infer(op::GatherND{.batch_dims = 1}, {info(f, {n, 2, 7}), info(l, {Dim(), 4, 1})})[0].dims ==
        Dims{n, 4, 7});
  CHECK_FALSE(infer(op::GatherND{}, {info(f, {n, 2}), info(l, {3, Dim()})})[0].dims.ranked());
  const Tensor<float, Shape<2>> x{1, 2};
  auto y = apply<op::GatherND{}>(x, Tensor<int64_t, Shape<1, 1>>{{1}});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<1>>>);
  CHECK(y[0] == 2);
}
}  // namespace tenon

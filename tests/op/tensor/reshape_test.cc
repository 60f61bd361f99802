#include "tenon/op/tensor/reshape.hpp"

#include "tests/op/movement.hpp"

namespace tenon {
using namespace test;

namespace {
Value ints(const Extents& v) { return Tensor<int64_t>({v.size()}, v.begin(), v.end()); }
}  // namespace

TEST_CASE("Reshape: cases") {
  const struct {
    int64_t allowzero;
    Extents in, shape, out;
  } rows[] = {
      {0, {2, 3}, {3, 2}, {3, 2}},
      {0, {2, 3}, {-1}, {6}},
      {0, {2, 3}, {0, -1}, {2, 3}},
      {0, {2, 3}, {1, 0, -1}, {1, 3, 2}},
      {0, {4}, {2, -1, 2}, {2, 1, 2}},
      {0, {}, {1, 1}, {1, 1}},
      {0, {1}, {}, {}},
      {0, {0, 3}, {0, -1}, {0, 3}},
      {0, {0, 3}, {3, -1}, {3, 0}},
      {1, {0, 3}, {3, 4, 0}, {3, 4, 0}},
      {1, {2, 3}, {6, -1}, {6, 1}},
  };
  for (const auto& row : rows)
    for_types(op::Reshape::spec.types[0], [&](DType d) {
      const Value x = pattern(d, row.in);
      check_moved(run(op::Reshape{.allowzero = row.allowzero}, {x, ints(row.shape)})[0].tensor(), x.tensor(),
                  row.out, [&](const Extents& i) { return place(row.out, i); });
    });
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  check(op::Reshape{}, {x, ints({4})}, {t<float>({4}, {1, 2, 3, 4})}, 0, 0, 5);
  check(op::Reshape_1{.shape = {0, -1, 1}}, {x}, {t<float>({2, 2, 1}, {1, 2, 3, 4})});
}

TEST_CASE("Reshape: what is refused") {
  const Value x = t<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  check_fails(op::Reshape{}, {x, ints({4})}, "(2,3) cannot become (4)");
  check_fails(op::Reshape{}, {x, ints({4, -1})}, "the elements of (2,3) do not divide into");
  check_fails(op::Reshape{}, {x, ints({-1, -1})}, "more than one extent is -1");
  check_fails(op::Reshape{}, {x, ints({-2, 3})}, "extent -2 is negative");
  check_fails(op::Reshape{}, {x, ints({3, 2, 0})}, "stands for none of the input's axes");
  check_fails(op::Reshape{.allowzero = 1}, {x, ints({0, -1})}, "-1 and 0 exclude each other");
  check_fails(op::Reshape{}, {x, t<int64_t>({1, 1}, {6})}, "shape has rank 2, not 1");
  check_fails(op::Reshape{}, {x, pattern(DType::int64, {17})}, "rank 17 is above 16");
  check_fails(op::Reshape{}, {x, t<int32_t>({1}, {6})}, "input shape cannot be");
}

TEST_CASE("Reshape: symbols, values, typed") {
  const auto n = Dim::symbol(1);
  const auto f = DType::float32, l = DType::int64;
  CHECK(infer(op::Reshape{}, {info(f, {n, 6}), info(l, {3}, {0, 2, -1})})[0].dims == Dims{n, 2, 3});
  CHECK(infer(op::Reshape{}, {info(f, {n, 6}), info(l, {2}, {n, -1})})[0].dims == Dims{n, 6});
  CHECK(infer(op::Reshape{}, {info(f, {n, 6}), info(l, {2}, {-1, 6})})[0].dims == Dims{n, 6});
  CHECK(infer(op::Reshape{}, {info(f, {n, 6}), info(l, {2}, {-1, 4})})[0].dims == Dims{Dim(), 4});
  CHECK(infer(op::Reshape{}, {info(f, {n, 6}), info(l, {2})})[0].dims == Dims::of_rank(2));
  CHECK(infer(op::Reshape{}, {info(f, {}), info(l, {2}, {0, 3})})[0].dims == Dims{Dim(), 3});
  CHECK_FALSE(infer(op::Reshape{}, {info(f, {n, 6}), info(l, {})})[0].dims.ranked());
  const Value four = t<int64_t>({2, 2}, {1, 2, 3, 4});
  const auto r = infer(op::Reshape{}, {op::detail::info_of(four), info(l, {1}, {4})})[0];
  CHECK((r.dims == Dims{4} && r.values[2].is(3)));
  auto y = apply<op::Reshape{}>(Tensor<float, Shape<4>>{1, 2, 3, 4}, constant<int64_t, 2, -1>);
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<2, 2>>>);
  CHECK(y(1, 0) == 3);
}
}  // namespace tenon

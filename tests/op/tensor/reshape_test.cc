#include "tenon/op/tensor/reshape.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

namespace {
Value vec(const Extents& v) { return Tensor<int64_t>({v.size()}, v.begin(), v.end()); }
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
      check_moved(run(op::Reshape{.allowzero = row.allowzero}, {x, vec(row.shape)})[0].tensor(), x.tensor(),
                  row.out, [&](const Extents& i) { return place(row.out, i); });
    });
  const Value x = t<float>({2, 2}, {1, 2, 3, 4});
  check(op::Reshape{}, {x, vec({4})}, {t<float>({4}, {1, 2, 3, 4})}, 0, 0, 5);
  const auto reshape_1 = [](const ints& shape) { return stated<op::Reshape>(1, {{"shape", shape}}); };
  check(reshape_1({0, -1, 1}), {x}, {t<float>({2, 2, 1}, {1, 2, 3, 4})});
  check(reshape_1({4}), {x}, {t<float>({4}, {1, 2, 3, 4})});
  check(reshape_1({}), {t<float>({1, 1}, {7})}, {t<float>({}, {7})});
  check(stated<op::Reshape>(1, {{"consumed_inputs", ints{0}}, {"shape", ints{4}}}), {x},
        {t<float>({4}, {1, 2, 3, 4})});
  const Dim n = Dim::symbol(1);
  CHECK(infer(reshape_1({0, 2, -1}), {info(DType::float32, {n, 6})}).dims == Dims{n, 2, 3});
  check_fails(reshape_1({3}), {x}, "(2,2) cannot become (3)");
  check_fails(reshape_1({4}), {t<int32_t>({4}, {1, 2, 3, 4})}, "data cannot be tensor(int32)");
  check_fails(reshape_1({4}), {x, vec({4})}, "has no input shape at version 1");
  check_refused<op::Reshape>(5, {{"shape", ints{4}}}, "version 5 has no attribute 'shape'");
  check_refused<op::Reshape>(13, {{"allowzero", int64_t{1}}}, "version 13 has no attribute 'allowzero'");
  for (int version : {5, 13, 14, 19, 21, 23, 24, 25})
    check(stated<op::Reshape>(version), {x, vec({4})}, {t<float>({4}, {1, 2, 3, 4})});
}

TEST_CASE("Reshape: errors") {
  const Value x = t<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  check_fails(op::Reshape{}, {x, vec({4})}, "(2,3) cannot become (4)");
  check_fails(op::Reshape{}, {x, vec({4, -1})}, "the elements of (2,3) do not divide into");
  check_fails(op::Reshape{}, {x, vec({-1, -1})}, "more than one extent is -1");
  check_fails(op::Reshape{}, {x, vec({-2, 3})}, "extent: -2, expected at least -1");
  check_fails(op::Reshape{}, {x, vec({3, 2, 0})}, "copies no axis of the input");
  check_fails(op::Reshape{.allowzero = 1}, {x, vec({0, -1})}, "-1 and 0 exclude each other");
  check_fails(op::Reshape{}, {x, t<int64_t>({1, 1}, {6})}, "shape: rank 2, expected 1");
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
  const auto r = infer(op::Reshape{}, {op::info_of(four), info(l, {1}, {4})})[0];
  CHECK((r.dims == Dims{4} && r.propagated[2].is(3)));
  auto y = apply<op::Reshape{}>(Tensor<float, Shape<4>>{1, 2, 3, 4}, constant<int64_t, 2, -1>);
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<2, 2>>>);
  CHECK(y(1, 0) == 3);
}
}  // namespace tenon

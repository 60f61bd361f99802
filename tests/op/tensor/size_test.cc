#include "tenon/op/tensor/size.hpp"

#include "tests/op/movement.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Size: cases") {
  const struct {
    Extents in;
    int64_t out;
  } rows[] = {{{2, 3, 4}, 24}, {{}, 1}, {{0, 3}, 0}, {{5}, 5}, {{1, 1, 1, 1, 1, 1}, 1}};
  for (const auto& row : rows)
    for_types(op::Size::spec.types[0],
              [&](DType d) { check(op::Size{}, {pattern(d, row.in)}, {t<int64_t>({}, {row.out})}); });
  for (int version : op::Size::spec.since)
    check(op::Size{}, {t<float>({3}, {1, 2, 3})}, {t<int64_t>({}, {3})}, 0, 0, version);
  check_fails(op::Size{}, {cast<bfloat16>({}, {1})}, "cannot be tensor(bfloat16)", 1, 1);
  check_fails(op::Size{}, {cast<int2>({1}, {1})}, "cannot be tensor(int2)", 1, 24);
}

TEST_CASE("Size: shape arithmetic, typed") {
  const auto n = Dim::symbol(1);
  const auto size = [](const Dims& dims) { return infer(op::Size{}, {info(DType::float32, dims)})[0]; };
  CHECK((size({2, 3}).dims == Dims::of_rank(0) && size({2, 3}).type == Type(DType::int64)));
  CHECK(size({2, 3}).propagated[0].is(6));
  CHECK(size({}).dims == Dims::of_rank(0));
  CHECK_FALSE(size(Dims()).propagated[0].known());
  CHECK(size({n, 1}).propagated[0].same(n));
  CHECK_FALSE(size({n, 2}).propagated[0].known());
  CHECK(size({n, 0}).propagated[0].is(0));
  CHECK_FALSE(size({int64_t{1} << 40, int64_t{1} << 40}).propagated[0].known());
  const auto y = op::Size{}(Tensor<float, Shape<1, 2>>{{4, 5}});
  CHECK(y.item() == 2);
}
}  // namespace tenon

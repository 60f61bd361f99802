#include "tenon/op/tensor/shape.hpp"

#include "tenon/op/generator/constant.hpp"
#include "tenon/op/generator/constant_of_shape.hpp"
#include "tenon/op/math/expand.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/identity.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/slice.hpp"
#include "tenon/op/tensor/split.hpp"
#include "tenon/op/tensor/squeeze.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"
#include "tests/op/movement.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Shape: cases") {
  const struct {
    op::Shape op;
    Extents in;
    std::vector<int64_t> out;
  } rows[] = {
      {{}, {2, 3, 4}, {2, 3, 4}},
      {{}, {}, {}},
      {{}, {0, 3}, {0, 3}},
      {{.start = 1}, {2, 3, 4}, {3, 4}},
      {{.start = -1}, {2, 3, 4}, {4}},
      {{.end = 1}, {2, 3, 4}, {2}},
      {{.end = -1}, {2, 3, 4}, {2, 3}},
      {{.end = 2, .start = 1}, {2, 3, 4}, {3}},
      {{.end = 1, .start = 2}, {2, 3, 4}, {}},
      {{.end = 10, .start = -10}, {2, 3, 4}, {2, 3, 4}},
      {{.end = INT64_MIN, .start = INT64_MAX}, {2, 3, 4}, {}},
  };
  for (const auto& row : rows)
    for_types(op::Shape::spec.types[0], [&](DType d) {
      check(row.op, {pattern(d, row.in)},
            {Tensor<int64_t>({static_cast<int64_t>(row.out.size())}, row.out.begin(), row.out.end())});
    });
  check(op::Shape{}, {t<float>({1}, {1})}, {t<int64_t>({1}, {1})}, 0, 0, 1);
}

TEST_CASE("Shape: symbols, typed") {
  const auto n = Dim::symbol(1);
  const auto r = infer(op::Shape{}, {info(DType::float32, {n, Dim(), 3})})[0];
  CHECK(r.dims == Dims{3});
  CHECK((r.type == Type(DType::int64) && r.propagated[0].same(n) && !r.propagated[1].known() &&
         r.propagated[2].is(3)));
  CHECK(infer(op::Shape{}, {info(DType::float32, {})})[0].dims == Dims::of_rank(1));
  auto y = apply<op::Shape{.start = 1}>(Tensor<float, Shape<1, 2>>{{4, 5}});
  static_assert(std::is_same_v<decltype(y), Tensor<int64_t, Shape<1>>>);
  CHECK(y[0] == 2);
}

// What exporters write for x.reshape(x.shape[0], x.shape[1], -1), and the like.
TEST_CASE("shape arithmetic carries a symbolic batch into Reshape") {
  const auto n = Dim::symbol(1);
  const auto x = info(DType::float32, {n, 6, 4, 5});
  const auto axis0 = info(DType::int64, {1}, {0});
  auto scalar = [](int64_t v) { return infer(op::Constant{.value_int = v}, {})[0]; };
  auto list = [](std::vector<int64_t> v) { return infer(op::Constant{.value_ints = std::move(v)}, {})[0]; };

  const auto shape = infer(op::Shape{}, {x})[0];
  auto extent = [&](int64_t axis) {
    return infer(op::Unsqueeze{}, {infer(op::Gather{}, {shape, scalar(axis)})[0], axis0})[0];
  };
  // Shape -> Gather -> Unsqueeze -> Concat -> Reshape
  const auto target = infer(op::Concat{.axis = 0}, {extent(0), list({2, 3}), extent(-1), list({-1})})[0];
  CHECK(target.dims == Dims{5});
  CHECK(infer(op::Reshape{}, {x, target})[0].dims == Dims{n, 2, 3, 5, 4});

  // Shape -> Slice -> Squeeze -> Identity -> Unsqueeze of version 1 -> Concat -> Reshape
  const auto sliced = infer(op::Slice{}, {shape, list({0}), list({1})})[0];
  const auto batch = infer(op::Identity{}, {infer(op::Squeeze{}, {sliced, axis0})[0]})[0];
  CHECK(batch.dims == Dims::of_rank(0));
  const auto rank1 = infer(op::Unsqueeze{}, {batch, axis0}, 1, 1)[0];
  CHECK(infer(op::Reshape{}, {x, infer(op::Concat{.axis = 0}, {rank1, list({-1})})[0]})[0].dims ==
        Dims{n, 120});

  // Split of a shape; ConstantOfShape and Expand by one
  const auto parts = infer(op::Split{}, {shape, list({1, 3})}, 2);
  const auto minus_one = infer(op::ConstantOfShape{.value = {t<int64_t>({1}, {-1})}}, {list({1})})[0];
  CHECK(infer(op::Reshape{}, {x, infer(op::Concat{.axis = 0}, {parts[0], minus_one})[0]})[0].dims ==
        Dims{n, 120});
  CHECK(infer(op::ConstantOfShape{}, {shape})[0].dims == Dims{n, 6, 4, 5});
  CHECK(infer(op::Expand{}, {info(DType::float32, {1, 4, 1}), parts[1]})[0].dims == Dims{6, 4, 5});

  // Pads as torch writes them: (b, a) pairs turned round by Reshape, Slice, Transpose, Reshape
  const auto pairs = infer(op::Reshape{}, {list({1, 2, 3, 4}), list({-1, 2})})[0];
  const Value far = t<int64_t>({1}, {-INT64_MAX});  // no Dim holds it: the rule reads the constant itself
  const auto turned = infer(op::Slice{}, {pairs, list({-1}), op::info_of(far), list({0}), list({-1})})[0];
  const auto pads = infer(op::Reshape{}, {infer(op::Transpose{.perm = {1, 0}}, {turned})[0], list({-1})})[0];
  CHECK(pads.dims == Dims{4});
  CHECK((pads.propagated[0].is(3) && pads.propagated[1].is(1) && pads.propagated[2].is(4) &&
         pads.propagated[3].is(2)));
}
}  // namespace tenon

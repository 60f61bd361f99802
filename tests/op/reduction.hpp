// What the tables of reductions share.
#pragma once

#include "tests/op/stated.hpp"

namespace tenon::test {

/// The axes of x (2,2) are an attribute up to version 17 and an input from 18 on. `rows` (2,1) is what is
/// left of axis 1, `columns` (2) of axis 0 without keepdims, `total` (1,1) of both, `each` (2,2) of none.
template <class Op>
void check_axes(const Value& x, const Value& rows, const Value& columns, const Value& total,
                const Value& each) {
  const int64_t zero = 0, one = 1;
  for (int version : Op::spec.since) {
    CAPTURE(version);
    const auto stated_with = [&](const Attributes& a) { return stated<Op>(version, a); };
    check(stated_with({}), {x}, {total});
    if (version < 18) {
      check(stated_with({{"axes", ints{1}}}), {x}, {rows});
      check(stated_with({{"axes", ints{-1}}}), {x}, {rows});
      check(stated_with({{"axes", ints{-2}}, {"keepdims", zero}}), {x}, {columns});
      check(stated_with({{"axes", ints{}}}), {x}, {total});
      check(stated_with({{"axes", ints{1, 0}}}), {x}, {total});
      check_fails(stated_with({{"axes", ints{2}}}), {x}, "axis 2 outside of [-2, 1]");
      check_fails(stated_with({{"axes", ints{0, -2}}}), {x}, "named twice");
      check_fails(stated_with({}), {x, t<int64_t>({1}, {0})}, "has no input axes at version");
      check_refused<Op>(version, {{"noop_with_empty_axes", one}}, "has no attribute 'noop_with_empty_axes'");
    } else {
      const Value empty = t<int64_t>({0}, {});
      check(stated_with({}), {x, t<int64_t>({1}, {1})}, {rows});
      check(stated_with({{"keepdims", zero}}), {x, t<int64_t>({1}, {-2})}, {columns});
      check(stated_with({}), {x, empty}, {total});
      check(stated_with({{"noop_with_empty_axes", one}}), {x}, {each});
      check(stated_with({{"noop_with_empty_axes", one}, {"keepdims", zero}}), {x, empty}, {each});
      check(stated_with({{"noop_with_empty_axes", one}}), {x, t<int64_t>({2}, {0, 1})}, {total});
      check_fails(stated_with({}), {x, t<int64_t>({1}, {-3})}, "axis -3 outside of");
      check_fails(stated_with({}), {x, t<int64_t>({}, {1})}, "axes: rank 0, expected 1");
      check_refused<Op>(version, {{"axes", ints{0}}}, "has no attribute 'axes'");
    }
  }
}

/// The types of all reductions but the extrema.
template <class Op>
void check_refused_types() {
  check_fails(Op{}, {t<bool>({1}, {true})}, "input data cannot be tensor(bool)");
  check_fails(Op{}, {t<int16_t>({1}, {1})}, "input data cannot be tensor(int16)");
  check_fails(Op{}, {t<uint8_t>({1}, {1})}, "input data cannot be tensor(uint8)");
  for (int version : {1, 11})
    check_fails(Op{}, {cast<bfloat16>({1}, {1})}, "input data cannot be tensor(bfloat16)", 1, version);
}

/// What the rule says before all is known.
template <class Op>
void check_unknown_axes() {
  const Dim n = Dim::symbol(1);
  const auto x = info(DType::float32, {n, 3, 4}), axes = info(DType::int64, {1});
  CHECK(infer(Op{}, {x, info(DType::int64, {1}, {1})})[0].dims == Dims{n, 1, 4});
  CHECK(infer(Op{}, {x, axes})[0].dims == Dims::of_rank(3));
  CHECK(infer(Op{.keepdims = 0}, {x, axes})[0].dims == Dims::of_rank(2));
  CHECK_FALSE(infer(Op{}, {info(DType::float32, Dims()), axes})[0].dims.ranked());
}

/// Op of `fill`, 300,000 times over in different layouts, is `expected`: sums stay close to sums in double.
template <class Op>
void check_long(float fill, double expected) {
  const int64_t n = 300000;
  for (const Extents& e : {Extents{n, 1}, Extents{1, n}, Extents{n, 3}}) {
    Tensor<float> x(e);
    for (float& v : x) v = fill;
    const int64_t axis = e[0] == n ? 0 : 1;
    const Value y = run(Op{.keepdims = 0}, {x, t<int64_t>({1}, {axis})})[0];
    for (int64_t k = 0; k < y.tensor().size(); ++k)
      CHECK(as_double(y.tensor(), k) == doctest::Approx(expected).epsilon(1e-6));
  }
}

}  // namespace tenon::test

// What the tables of reductions share.
#pragma once

#include "tests/op/stated.hpp"

namespace tenon::test {

/// The axes of x (2,2) are an attribute, and an input from the version on that the specification says. `rows`
/// (2,1) is the result over axis 1, `columns` (2) over axis 0 without keepdims, `total` (1,1) over both,
/// `each` (2,2) over none.
template <class Op>
void check_axes(const Value& x, const Value& rows, const Value& columns, const Value& total,
                const Value& each) {
  const int64_t zero = 0, one = 1;
  for (int version : Op::spec.since) {
    CAPTURE(version);
    const auto stated_with = [&](const Attributes& a) { return stated<Op>(version, a); };
    check(stated_with({}), {x}, {total});
    if (version < Op::spec.inputs[1].since) {
      check(stated_with({{"axes", ints{1}}}), {x}, {rows});
      check(stated_with({{"axes", ints{-1}}}), {x}, {rows});
      for (int64_t lost : {0, 2})
        check(stated_with({{"axes", ints{-2}}, {"keepdims", lost}}), {x}, {columns});
      check(stated_with({{"axes", ints{}}}), {x}, {total});
      check(stated_with({{"axes", ints{1, 0}}}), {x}, {total});
      check_fails(stated_with({{"axes", ints{2}}}), {x}, "axis 2 outside of [-2, 1]");
      check_fails(stated_with({{"axes", ints{0, -2}}}), {x}, "named twice");
      check_fails(stated_with({}), {x, t<int64_t>({1}, {0})}, "has no input axes at version");
      check_refused<Op>(version, {{"noop_with_empty_axes", one}}, "has no attribute 'noop_with_empty_axes'");
    } else {
      const Value empty = t<int64_t>({0}, {});
      check(stated_with({}), {x, t<int64_t>({1}, {1})}, {rows});
      for (int64_t lost : {0, 2})
        check(stated_with({{"keepdims", lost}}), {x, t<int64_t>({1}, {-2})}, {columns});
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

/// All of ReduceMax and ReduceMin; F is a lambda that gives the greater or the less of two numbers.
template <class Op, class F>
void check_extremum(F) {
  constexpr F of{};
  constexpr bool greatest = of(0, 1) == 1;
  const Value x = t<float>({2, 3}, {1, 5, 2, -3, -4, -1});
  const float nan = std::nanf("");
  // Of nothing.
  constexpr double none = greatest ? -INFINITY : INFINITY;
  constexpr int32_t none_32 = greatest ? INT32_MIN : INT32_MAX;
  constexpr uint8_t none_8 = greatest ? 0 : 255;
  struct Row {
    Op op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, t<int64_t>({1}, {1})}, t<float>({2, 1}, {of(1, 5), of(-4, -1)})},
      {{.keepdims = 0}, {x, t<int64_t>({1}, {0})}, t<float>({3}, {of(1, -3), of(5, -4), of(2, -1)})},
      {{.keepdims = 0}, {x}, t<float>({}, {of(5, -4)})},
      {{.noop_with_empty_axes = 1}, {x}, x},
      {{}, {t<float>({}, {3})}, t<float>({}, {3})},
      {{}, {t<float>({3}, {1, nan, -float(none)})}, t<float>({1}, {nan})},
      {{}, {t<float>({0}, {})}, t<float>({1}, {float(none)})},
      {{}, {t<double>({2, 0}, {}), t<int64_t>({1}, {1})}, t<double>({2, 1}, {none, none})},
      {{}, {t<float>({2, 0}, {}), t<int64_t>({1}, {0})}, t<float>({1, 0}, {})},
      {{}, {t<int32_t>({0}, {})}, t<int32_t>({1}, {none_32})},
      {{}, {t<uint8_t>({0}, {})}, t<uint8_t>({1}, {none_8})},
      {{}, {cast<float16>({0}, {})}, cast<float16>({1}, {none})},
      {{}, {t<int64_t>({2}, {INT64_MIN, INT64_MAX})}, t<int64_t>({1}, {of(INT64_MIN, INT64_MAX)})},
      {{}, {t<uint64_t>({2}, {UINT64_MAX, 1})}, t<uint64_t>({1}, {of(UINT64_MAX, uint64_t{1})})},
      {{}, {t<uint32_t>({2}, {UINT32_MAX, 1})}, t<uint32_t>({1}, {of(UINT32_MAX, 1u)})},
      {{}, {t<int8_t>({3}, {-5, -128, -7})}, t<int8_t>({1}, {of(-128, -5)})},
      {{}, {t<uint8_t>({3}, {7, 128, 5})}, t<uint8_t>({1}, {of(5, 128)})},
      {{}, {t<double>({2}, {1, -2})}, t<double>({1}, {of(1, -2)})},
      {{}, {cast<float16>({2}, {1, -2})}, cast<float16>({1}, {of(1, -2)})},
      {{}, {cast<bfloat16>({2}, {1, -2})}, cast<bfloat16>({1}, {of(1, -2)})},
      {{},
       {t<bool>({3, 2}, {false, true, false, false, true, true}), t<int64_t>({1}, {1})},
       t<bool>({3, 1}, {of(false, true), false, true})},
      {{}, {t<bool>({0}, {})}, t<bool>({1}, {!greatest})},
      {{}, {t<bool>({0, 2}, {}), t<int64_t>({1}, {0})}, t<bool>({1, 2}, {!greatest, !greatest})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out}, 0, 0);
  check_axes<Op>(t<float>({2, 2}, {1, 4, 3, 2}), t<float>({2, 1}, {of(1, 4), of(3, 2)}),
                 t<float>({2}, {of(1, 3), of(4, 2)}), t<float>({1, 1}, {of(1, 4)}),
                 t<float>({2, 2}, {1, 4, 3, 2}));
  const Value i8 = t<int8_t>({2}, {1, 2}), b16 = cast<bfloat16>({2}, {1, 2}), b = t<bool>({1}, {true});
  check(Op{}, {i8}, {t<int8_t>({1}, {of(1, 2)})}, 0, 0, 12);
  check(stated<Op>(13), {b16}, {cast<bfloat16>({1}, {of(1, 2)})});
  check_fails(Op{}, {i8}, "input data cannot be tensor(int8)", 1, 11);
  check_fails(Op{}, {b16}, "input data cannot be tensor(bfloat16)", 1, 12);
  check_fails(Op{}, {b}, "input data cannot be tensor(bool)", 1, 18);
  check_fails(Op{}, {t<int16_t>({1}, {1})}, "input data cannot be tensor(int16)");
  check_unknown_axes<Op>();
  const auto y = apply<Op{.keepdims = 0}>(Tensor<uint8_t, Shape<2, 2>>{{1, 2}, {3, 4}});
  static_assert(std::is_same_v<decltype(y), const Tensor<uint8_t, Shape<>>>);
  CHECK(y.item() == of(1, 4));
}

/// The numbers, or others in the opposite order.
template <class T>
Value in_order(bool same, const Extents& extents, std::initializer_list<T> numbers) {
  Tensor<T> x(extents, numbers);
  for (T& v : x)
    if (!same) v = std::is_floating_point_v<T> ? -v : static_cast<T>(-1 - v);
  return x;
}

/// All of ArgMax and ArgMin.
template <class Op>
void check_arg_extremum(bool greatest) {
  const Value x = in_order<float>(greatest, {2, 3}, {2, 1, 2, 3, 10, 10});
  const float nan = std::nanf("");
  const Value nans = t<float>({1, 3}, {1, nan, nan});
  struct Row {
    Op op;
    Value in, out;
  } rows[] = {
      {{}, x, t<int64_t>({1, 3}, {1, 1, 1})},
      {{.axis = 1}, x, t<int64_t>({2, 1}, {0, 1})},
      {{.axis = -1, .keepdims = 0}, x, t<int64_t>({2}, {0, 1})},
      {{.axis = 1, .keepdims = 2, .select_last_index = 1}, x, t<int64_t>({2}, {2, 2})},
      {{.axis = 1}, nans, t<int64_t>({1, 1}, {1})},
      {{.axis = 1, .select_last_index = 1}, nans, t<int64_t>({1, 1}, {2})},
      {{.axis = 0}, t<float>({3, 2}, {nan, 1, nan, nan, 0, nan}), t<int64_t>({1, 2}, {0, 1})},
      {{.axis = 0, .select_last_index = 1},
       t<float>({3, 2}, {nan, 1, nan, nan, 0, nan}),
       t<int64_t>({1, 2}, {1, 2})},
      {{.axis = 1}, in_order<float>(greatest, {1, 2}, {-INFINITY, INFINITY}), t<int64_t>({1, 1}, {1})},
      {{.axis = 1}, t<float>({0, 3}, {}), t<int64_t>({0, 1}, {})},
      {{.axis = 1}, in_order<float>(greatest, {1, 2, 2}, {1, 4, 3, 2}), t<int64_t>({1, 1, 2}, {1, 0})},
      {{}, in_order<int8_t>(greatest, {3}, {-128, 5, 127}), t<int64_t>({1}, {2})},
      {{}, in_order<uint8_t>(greatest, {3}, {128, 5, 127}), t<int64_t>({1}, {0})},
      {{}, in_order<int16_t>(greatest, {3}, {-1, 5, 127}), t<int64_t>({1}, {2})},
      {{}, in_order<uint16_t>(greatest, {3}, {65535, 5, 127}), t<int64_t>({1}, {0})},
      {{}, in_order<int32_t>(greatest, {2}, {-1, 5}), t<int64_t>({1}, {1})},
      {{}, in_order<uint32_t>(greatest, {2}, {UINT32_MAX, 5}), t<int64_t>({1}, {0})},
      {{}, in_order<int64_t>(greatest, {2}, {INT64_MIN, INT64_MAX}), t<int64_t>({1}, {1})},
      {{}, in_order<uint64_t>(greatest, {2}, {UINT64_MAX, 5}), t<int64_t>({1}, {0})},
      {{}, in_order<double>(greatest, {2}, {1, 2}), t<int64_t>({1}, {1})},
      {{}, cast<float16>({2}, {greatest ? 1.0 : 3.0, 2}), t<int64_t>({1}, {1})},
      {{}, cast<bfloat16>({2}, {greatest ? 1.0 : 3.0, 2}), t<int64_t>({1}, {1})},
  };
  for (const Row& row : rows) check(row.op, {row.in}, {row.out});
  for (int version : Op::spec.since) {
    check(stated<Op>(version, {{"axis", int64_t{1}}}), {x}, {t<int64_t>({2, 1}, {0, 1})}, 0, 0);
    if (version < 12)
      check_refused<Op>(version, {{"select_last_index", int64_t{1}}}, "has no attribute 'select_last_index'");
  }
  check_fails(Op{.axis = 2}, {x}, "axis 2 outside of [-2, 1]");
  check_fails(Op{}, {t<float>({}, {1})}, "axis 0 outside of");
  check_fails(Op{}, {t<float>({0, 2}, {})}, "no element along axis 0 of (0,2)");
  check_fails(Op{}, {cast<bfloat16>({1}, {1})}, "input data cannot be tensor(bfloat16)", 1, 12);
  check_fails(Op{}, {t<bool>({1}, {true})}, "input data cannot be tensor(bool)");

  const auto y = apply<Op{.axis = 1, .keepdims = 0}>(Tensor<float, Shape<2, 3>>{{1, 2, 3}, {6, 5, 4}});
  static_assert(std::is_same_v<decltype(y), const Tensor<int64_t, Shape<2>>>);
  CHECK((y(0) == (greatest ? 2 : 0) && y(1) == (greatest ? 0 : 2)));
  const auto n = Dim::symbol(1);
  const auto out = infer(Op{.axis = 1}, {info(DType::float32, {n, 3, Dim()})});
  CHECK(out[0].dims == Dims{n, 1, Dim()});
  CHECK(out[0].type == Type(DType::int64));
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

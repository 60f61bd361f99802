// What the tables of running sums and products share.
#pragma once

#include "tests/op/elementwise.hpp"

namespace tenon::test {

/// Every type and attribute against the definition: f joins two numbers, and `neutral` comes before the
/// first. Then refusals, and the shape rule.
template <class Op, class F>
void check_cumulation(F f, double neutral) {
  const auto along = [&](Op op, DType type, int64_t axis, const Value& stated) {
    const int64_t e[] = {2, 3, 2}, step = axis == 0 ? 6 : axis == 1 ? 2 : 1;
    const double x[] = {1, 2, 3, 1, 2, 1, 3, 2, 1, 2, 1, 3};
    double y[12];
    for (int64_t k = 0; k < 12; ++k) {
      const int64_t at = k / step % e[axis], from = op.reverse ? at + op.exclusive : 0,
                    to = op.reverse ? e[axis] : at + 1 - op.exclusive;
      y[k] = neutral;
      for (int64_t j = from; j < to; ++j) y[k] = f(y[k], x[k + (j - at) * step]);
    }
    AnyTensor in = AnyTensor::uninitialized(type, {2, 3, 2}), out = AnyTensor::uninitialized(type, {2, 3, 2});
    convert_n(type, in.out().data(), DType::float64, x, 12);
    convert_n(type, out.out().data(), DType::float64, y, 12);
    check(op, {Value(std::move(in)), stated}, {Value(std::move(out))}, 0, 0);
  };
  for (const Op op : {Op{}, Op{.exclusive = 1}, Op{.reverse = 1}, Op{.exclusive = 1, .reverse = 1}}) {
    for (DType type : {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int32,
                       DType::int64, DType::uint32, DType::uint64})
      along(op, type, 1, t<int64_t>({}, {1}));
    along(op, DType::float32, 0, t<int32_t>({1}, {0}));
    along(op, DType::float32, 2, t<int32_t>({}, {-1}));
  }
  const Value first = t<int32_t>({}, {0}), second = t<int64_t>({}, {1}), x = t<float>({2, 2}, {1, 2, 3, 4});
  check(Op{}, {t<float>({2, 0}, {}), first}, {t<float>({2, 0}, {})});
  check(Op{}, {t<float>({0, 2}, {}), second}, {t<float>({0, 2}, {})});
  check_in_place(Op{.exclusive = 1}, {x, second}, 0);
  check_in_place(Op{}, {t<int64_t>({1}, {5}), t<int64_t>({1}, {0})}, 1);

  check_fails(Op{}, {x, t<int64_t>({}, {2})}, "axis 2 outside of [-2, 1]");
  check_fails(Op{}, {x, t<int64_t>({}, {-3})}, "axis -3 outside of");
  check_fails(Op{}, {x, t<int64_t>({}, {INT64_MIN})}, "input 1 holds a number out of range");
  check_fails(Op{}, {x, t<int64_t>({2}, {0, 1})}, "axis: (2), expected one element");
  check_fails(Op{}, {t<float>({}, {1}), t<int64_t>({}, {0})}, "axis 0 outside of");
  check_fails(Op{}, {t<int8_t>({1}, {1}), t<int64_t>({}, {0})}, "cannot be tensor(int8)");
  const Dim n = Dim::symbol(1);
  CHECK(infer(Op{}, {info(DType::float32, {n, 3}), info(DType::int64, {1})})[0].dims == Dims{n, 3});

  const auto y = apply<Op{}>(Tensor<int64_t, Shape<3>>{1, 2, 3}, constant<int64_t, 0>);
  static_assert(std::is_same_v<decltype(y), const Tensor<int64_t, Shape<3>>>);
  CHECK(y[2] == 6);
}

}  // namespace tenon::test

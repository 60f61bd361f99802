// What the tables of elementwise operators share.
#pragma once

#include "tests/op/check.hpp"

namespace tenon::test {

/// Runs an operator with its result in the memory of input `reused`, as a session may for
/// Memory::elementwise.
template <class Op>
void check_in_place(const Op& op, const std::vector<Value>& in, std::size_t reused, double rtol = 1e-6) {
  static_assert(Op::spec.memory == op::Memory::elementwise);
  const Value expected = run(op, in)[0];
  // Inputs that share their elements go on doing so.
  std::vector<Value> own;
  for (std::size_t k = 0; k < in.size(); ++k) {
    std::size_t first = 0;
    while (in[first].tensor().data() != in[k].tensor().data()) ++first;
    own.push_back(first < k ? own[first] : Value(in[k].tensor().clone()));
  }
  Value out = own[reused];
  std::vector<const Value*> ins;
  for (const Value& v : own) ins.push_back(&v);
  Value* outs[] = {&out};
  op::Context context;
  any(op).run(context, ins, outs);
  check_equal(out, expected, rtol);
}

/// y = op(x) in each type of Ts, under several extents, and in place. Tolerances follow the type's precision.
template <class... Ts, class Op>
void check_unary(const Op& op, std::initializer_list<double> x, std::initializer_list<double> y,
                 int version = 0) {
  const auto n = static_cast<int64_t>(x.size());
  const auto one = [&]<class T>() {
    const double rtol = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
    check(op, {cast<T>({n}, x)}, {cast<T>({n}, y)}, rtol, rtol / 100, version);
    check(op, {cast<T>({n, 1, 1}, x)}, {cast<T>({n, 1, 1}, y)}, rtol, rtol / 100, version);
    check(op, {cast<T>({}, {*x.begin()})}, {cast<T>({}, {*y.begin()})}, rtol, rtol / 100, version);
    check(op, {cast<T>({2, 0}, {})}, {cast<T>({2, 0}, {})}, rtol, rtol / 100, version);
    check_in_place(op, {cast<T>({n}, x)}, 0);
  };
  (one.template operator()<Ts>(), ...);
}

/// A function of real numbers, y = f(x) of doubles: at every version, in each type that the version takes. f
/// gets the numbers as the type holds them.
template <class Op, class F>
void check_real_function(const Op& op, F f, std::initializer_list<double> x) {
  const auto n = static_cast<int64_t>(x.size());
  for (int version : Op::spec.since) {
    CAPTURE(version);
    const auto each_type = [&]<class T>() {
      if (!Op::spec.types[0].at(version).contains(dtype_of<T>))
        return check_fails(op, {cast<T>({}, {1})}, "cannot be tensor(", 1, version);
      const double rtol = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
      const auto check_under = [&](const Extents& extents, std::initializer_list<double> numbers) {
        const Value in = cast<T>(extents, numbers);
        Tensor<T> out(extents);
        for (int64_t k = 0; k < out.size(); ++k) out[k] = T(f(as_double(in.tensor(), k)));
        check(op, {in}, {out}, rtol, rtol / 100, version);
      };
      check_under({n}, x);
      check_under({1, n, 1}, x);
      check_under({}, {*x.begin()});
      check_under({2, 0}, {});
      check_in_place(op, {cast<T>({n}, x)}, 0);
    };
    each_type.template operator()<float>();
    each_type.template operator()<double>();
    each_type.template operator()<float16>();
    each_type.template operator()<bfloat16>();
    check_fails(op, {t<int32_t>({1}, {1})}, "cannot be tensor(int32)", 1, version);
    check_fails(op, {t<bool>({1}, {true})}, "cannot be tensor(bool)", 1, version);
  }
  const Dims dims{Dim::symbol(1), Dim(), 3};
  CHECK(infer(op, {info(DType::float32, dims)})[0].dims == dims);
  CHECK_FALSE(infer(op, {info(DType::float32, {})})[0].dims.ranked());

  const auto y = op(Tensor<double, Shape<2>>{*x.begin(), 1});
  if constexpr (std::is_empty_v<Op>)
    static_assert(std::is_same_v<decltype(y), const Tensor<double, Shape<2>>>);
  CHECK(y[0] == doctest::Approx(f(*x.begin())));
}

}  // namespace tenon::test

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

}  // namespace tenon::test

// What the operators' tables of cases are written with.
#pragma once

#include <doctest/doctest.h>

#include "tenon/op/registry.hpp"
#include "tenon/tensor/difference.hpp"

namespace tenon::test {

/// A tensor as a Value: t<float>({2, 2}, {1, 2, 3, 4}).
template <class T>
Value t(const Extents& extents, std::initializer_list<T> values) {
  return Tensor<T>(extents, values);
}
/// Numbers in a type that has no literals, converted as Cast would: cast<float16>({2}, {0.5, 1}).
template <class T>
Value cast(const Extents& extents, std::initializer_list<double> values) {
  Tensor<T> tensor{std::span<const int64_t>(extents)};
  int64_t k = 0;
  for (double v : values) tensor[k++] = convert<T>(v);
  REQUIRE(k == tensor.size());
  return tensor;
}

inline double as_double(AnyView v, int64_t k) {
  double result = 0;
  visit_dtype(v.dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, std::string>) result = convert<double>(T(v.as<T>()[k]));
  });
  return result;
}

/// Fails the test case unless both are equal; see tenon/tensor/difference.hpp.
inline void check_equal(const Value& actual, const Value& expected, double rtol = 1e-6, double atol = 1e-7) {
  const std::string d = difference(actual, expected, {rtol, atol});
  CHECK_MESSAGE(d.empty(), d);
}

/// Runs an operator as a session would, at a version (0: its newest), with erased operands; an empty Value is
/// an operand left out. Error where results are not of the types and extents that `infer` promised.
template <class Op>
std::vector<Value> run(const Op& op, const std::vector<Value>& in, int outputs = 1, int version = 0) {
  const AnyOperator any(operator_class<Op>, std::make_shared<const Op>(op),
                        version ? version : Op::spec.latest());
  std::vector<const Value*> operands;
  for (const Value& v : in) operands.push_back(&v);
  op::Context context;
  return op::evaluate(any, context, operands, static_cast<std::size_t>(outputs));
}

/// One case: the operator, its operands, what it gives.
template <class Op>
void check(const Op& op, const std::vector<Value>& in, const std::vector<Value>& expected, double rtol = 1e-6,
           double atol = 1e-7, int version = 0) {
  const std::vector<Value> out = run(op, in, static_cast<int>(expected.size()), version);
  for (std::size_t o = 0; o < out.size(); ++o)
    if (expected[o]) check_equal(out[o], expected[o], rtol, atol);
}

/// The operator refuses the operands with a message that holds `text`.
template <class Op>
void check_fails(const Op& op, const std::vector<Value>& in, std::string_view text, int outputs = 1,
                 int version = 0) {
  try {
    run(op, in, outputs, version);
    FAIL_CHECK("no error, expected one with '", text, "'");
  } catch (const Error& e) {
    CHECK_MESSAGE(std::string_view(e.what()).find(text) != std::string_view::npos, "'", e.what(), "' lacks '",
                  text, "'");
  }
}

/// The shape rule alone: what it says of operands of these types and extents (and values, where given).
template <class Op>
std::vector<op::Info> infer(const Op& op, std::vector<op::Info> in, int outputs = 1, int version = 0) {
  std::vector<op::Info> out(static_cast<std::size_t>(outputs));
  const op::Message m = op::infer(op, version ? version : Op::spec.latest(), in, out);
  if (!m.empty()) throw Error(ErrorCode::invalid_shape, std::string(Op::spec.name), std::string(m.view()));
  return out;
}
inline op::Info info(DType dtype, const Dims& dims, const op::Values& values = {}) {
  op::Info i;
  i.type = dtype;
  i.dims = dims;
  i.values = values;
  return i;
}

}  // namespace tenon::test

// What the operators' tables of cases are written with. Bodies: check.cc, compiled once for all tests.
#pragma once

#include <doctest/doctest.h>

#include "tenon/op/framework/registry.hpp"

namespace tenon::test {

/// A tensor as a Value: t<float>({2, 2}, {1, 2, 3, 4}).
template <class T>
Value t(const Extents& extents, std::initializer_list<T> values) {
  return Tensor<T>(extents, values);
}
/// Numbers in a type that has no literals, converted as Cast would: cast<float16>({2}, {0.5, 1}).
Value cast(DType dtype, const Extents& extents, std::initializer_list<double> values);
template <class T>
Value cast(const Extents& extents, std::initializer_list<double> values) {
  return cast(dtype_of<T>, extents, values);
}

double as_double(AnyView v, int64_t k);

/// f() throws an Error whose message holds `text`.
template <class F>
void check_throws(F f, std::string_view text) {
  try {
    static_cast<void>(f());
    FAIL_CHECK("no error, expected one with '", text, "'");
  } catch (const Error& e) {
    CHECK_MESSAGE(std::string_view(e.what()).find(text) != std::string_view::npos, "'", std::string(e.what()),
                  "' lacks '", text, "'");
  }
}

/// Fails the test case unless both are equal; see tenon/tensor/difference.hpp.
void check_equal(const Value& actual, const Value& expected, double rtol = 1e-6, double atol = 1e-7);

/// An operator at a version (0: its newest), for as long as `op` lives.
template <class Op>
AnyOperator any(const Op& op, int version = 0) {
  return {operator_class<Op>, {std::shared_ptr<const void>(), &op}, version ? version : Op::spec.latest()};
}

/// Runs an operator as a session would, with erased operands; an empty Value is an operand left out. Error
/// where results are not of the types and extents that `infer` promised.
std::vector<Value> run(const AnyOperator& op, const std::vector<Value>& in, int outputs = 1);
template <class Op>
std::vector<Value> run(const Op& op, const std::vector<Value>& in, int outputs = 1, int version = 0) {
  return run(any(op, version), in, outputs);
}

/// Checks one case: the operator, its operands and its results. The other types that hold the operands have
/// to give the same results, but for rounding (tests/op/types.hpp).
void check(const AnyOperator& op, const std::vector<Value>& in, const std::vector<Value>& expected,
           double rtol = 1e-6, double atol = 1e-7);
template <class Op>
void check(const Op& op, const std::vector<Value>& in, const std::vector<Value>& expected, double rtol = 1e-6,
           double atol = 1e-7, int version = 0) {
  check(any(op, version), in, expected, rtol, atol);
}

/// The operator refuses the operands with a message that holds `text`.
void check_fails(const AnyOperator& op, const std::vector<Value>& in, std::string_view text, int outputs = 1);
template <class Op>
void check_fails(const Op& op, const std::vector<Value>& in, std::string_view text, int outputs = 1,
                 int version = 0) {
  check_fails(any(op, version), in, text, outputs);
}

/// The shape rule alone: its results for operands of these types and extents (and values, where given).
std::vector<op::Info> infer(const AnyOperator& op, const std::vector<op::Info>& in, int outputs = 1);
template <class Op>
std::vector<op::Info> infer(const Op& op, const std::vector<op::Info>& in, int outputs = 1, int version = 0) {
  return infer(any(op, version), in, outputs);
}
op::Info info(DType dtype, const Dims& dims, const op::PropagatedData& values = {});

}  // namespace tenon::test

// What the operators' tables of cases are written with.
#pragma once

#include <doctest/doctest.h>

#include <cmath>

#include "tenon/base/convert.hpp"
#include "tenon/op/registry.hpp"

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

/// Fails the test case unless both are of one type and extents and equal: strings and integers exactly,
/// floats within rtol * |expected| + atol, NaN to NaN.
inline void check_equal(const Value& actual, const Value& expected, double rtol = 1e-6, double atol = 1e-7) {
  REQUIRE_MESSAGE(actual.type() == expected.type(), to_string(actual.type()), " instead of ",
                  to_string(expected.type()));
  if (actual.is_sequence()) {
    REQUIRE(actual.sequence().items.size() == expected.sequence().items.size());
    for (std::size_t k = 0; k < actual.sequence().items.size(); ++k)
      check_equal(actual.sequence().items[k], expected.sequence().items[k], rtol, atol);
    return;
  }
  if (actual.is_optional()) {
    REQUIRE((actual.optional().value != nullptr) == (expected.optional().value != nullptr));
    if (actual.optional().value)
      check_equal(*actual.optional().value, *expected.optional().value, rtol, atol);
    return;
  }
  if (!actual.is_tensor()) return;
  const AnyView a = actual.tensor().view(), e = expected.tensor().view();
  const std::string extents = to_string(a.extents());
  REQUIRE_MESSAGE(std::equal(a.extents().begin(), a.extents().end(), e.extents().begin(), e.extents().end()),
                  extents, " instead of ", to_string(e.extents()));
  for (int64_t k = 0; k < a.size(); ++k) {
    if (a.dtype() == DType::string) {
      CHECK(a.as<std::string>()[k] == e.as<std::string>()[k]);
    } else if (is_integer(a.dtype()) && bits(a.dtype()) == 64) {
      CHECK_MESSAGE(static_cast<const int64_t*>(a.data())[k] == static_cast<const int64_t*>(e.data())[k],
                    "element ", k);
    } else {
      const double x = as_double(a, k), y = as_double(e, k);
      const bool same =
          std::isnan(y) ? std::isnan(x) : x == y || std::abs(x - y) <= rtol * std::abs(y) + atol;
      CHECK_MESSAGE(same, "element ", k, ": ", x, " instead of ", y);
    }
  }
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

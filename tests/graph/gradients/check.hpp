// Derivatives of operators held to finite differences.
#pragma once

#include <doctest/doctest.h>

#include "tenon/graph/gradient.hpp"
#include "tenon/loader.hpp"

namespace tenon::test {

/// An operand of a case: random numbers in [low, high], or a constant, or a value that only the run knows, or
/// none.
struct Given {
  Extents extents{};
  double low = -2, high = 2;
  Value constant{};
  bool left_out = false;
  bool late = false;
  std::vector<double> numbers{};  ///< in place of random ones
};
inline Given reals(const Extents& extents, double low = -2, double high = 2) { return {extents, low, high}; }
inline Given reals(const Extents& extents, const std::vector<double>& numbers) {
  return {.extents = extents, .numbers = numbers};
}
inline Given constant(Value v) { return {{}, 0, 0, std::move(v)}; }
inline Given none() { return {{}, 0, 0, {}, true}; }
inline Given ints(const Extents& extents, std::initializer_list<int64_t> list) {
  return constant(Tensor<int64_t>(extents, list));
}
inline Given ints(std::initializer_list<int64_t> list) {
  return ints({static_cast<int64_t>(list.size())}, list);
}
inline Given late(Given g) {
  g.late = true;
  return g;
}
inline Given bools(const Extents& extents, std::initializer_list<bool> list) {
  return constant(Tensor<bool>(extents, list));
}

/// An operator at its newest version, and as a file of an older version states it.
template <class Op>
AnyOperator any(const Op& op) {
  return {*standard_registry().find(Op::spec.domain, Op::spec.name, Op::spec.latest()).op_class,
          std::make_shared<const Op>(op), Op::spec.latest()};
}

inline AnyOperator old(std::string_view name, int version,
                       const std::vector<std::pair<std::string, op::AttributeValue>>& attributes = {}) {
  return make_operator(*standard_registry().find("", name, version).op_class, version, attributes);
}

/// sum(c * f(x)) for one result of the operator, whose derivatives are held to finite differences, once with
/// extents that are known and once with extents that only the run knows.
void check_operator(const AnyOperator& op, const std::vector<Given>& given, int outputs = 1,
                    std::vector<int> differentiated = {0}, bool twice = false);
/// The derivatives of sum((1 + k) f(x)[k]) at `in` with respect to the operands whose elements are of `type`,
/// one after the other.
std::vector<double> slopes(const AnyOperator& op, const std::vector<Value>& in, DType type = DType::float64);

template <class Op>
void check_op(const Op& op, const std::vector<Given>& given, int outputs = 1,
              std::vector<int> differentiated = {0}) {
  check_operator(any(op), given, outputs, std::move(differentiated));
}
/// Second derivatives: derivatives of the first ones.
template <class Op>
void check_twice(const Op& op, const std::vector<Given>& given, int outputs = 1,
                 std::vector<int> differentiated = {0}) {
  check_operator(any(op), given, outputs, std::move(differentiated), true);
}

}  // namespace tenon::test

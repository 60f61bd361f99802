// Operators as models of old versions state them, for the tables of cases: added to a graph, which brings
// them into the newest form, and run by a session.
#pragma once

#include "tests/op/check.hpp"

namespace tenon::test {

using Attributes = std::vector<std::pair<std::string, op::AttributeValue>>;
using ints = std::vector<int64_t>;

/// An operator as a model of some version states it.
struct Stated {
  AnyOperator op;
};
/// stated<op::ReduceSum>(11, {{"axes", ints{1}}}): ReduceSum-11 with an attribute.
template <class Op>
Stated stated(int version, const Attributes& attributes = {}) {
  return {make_operator(operator_class<Op>, version, attributes)};
}

/// The results of the operator in a session. Where the graph puts newest nodes in its place, the operator
/// itself has to give the same.
std::vector<Value> run(const Stated& op, const std::vector<Value>& in, int outputs = 1);
void check(const Stated& op, const std::vector<Value>& in, const std::vector<Value>& expected,
           double rtol = 1e-6, double atol = 1e-7);
void check_fails(const Stated& op, const std::vector<Value>& in, std::string_view text, int outputs = 1);
/// What the rule says of the result, once the graph has the operator in its newest form.
op::Info infer(const Stated& op, const std::vector<op::Info>& in);

/// The version has not these attributes, or needs more.
template <class Op>
void check_refused(int version, const Attributes& attributes, std::string_view text) {
  check_throws([&] { return stated<Op>(version, attributes); }, text);
}

/// Every version gives `out`, and takes the hint of version 1 that memory may be used again before version 6
/// only.
template <class Op>
void check_consumed_inputs(const std::vector<Value>& in, const Value& out, double rtol = 1e-6) {
  for (int version : Op::spec.since) {
    CAPTURE(version);
    check(stated<Op>(version), in, {out}, rtol);
    const Attributes hint{{"consumed_inputs", ints{0}}};
    if (version < 6) check(stated<Op>(version, hint), in, {out}, rtol);
    else check_refused<Op>(version, hint, "has no attribute 'consumed_inputs'");
  }
}

/// The forms of versions 1 and 6 of operators of two operands; `with(axis)` is one with broadcast. A is
/// {{1, 2}, {3, 4}}; the results are those for B {{4, 2}, {1, 2}}, and for {1, 3} along A's last axis and
/// along its first.
template <class In, class Out, class Op>
void check_legacy(const Op& plain, auto with, std::initializer_list<Out> same,
                  std::initializer_list<Out> last, std::initializer_list<Out> first) {
  const Value a = t<In>({2, 2}, {1, 2, 3, 4}), b = t<In>({2}, {1, 3});
  check(plain, {a, t<In>({2, 2}, {4, 2, 1, 2})}, {t<Out>({2, 2}, same)});
  check(with(Opt<int64_t>()), {a, b}, {t<Out>({2, 2}, last)});
  check(with(Opt<int64_t>(1)), {a, b}, {t<Out>({2, 2}, last)});
  check(with(Opt<int64_t>(0)), {a, b}, {t<Out>({2, 2}, first)});
  check(with(Opt<int64_t>(-2)), {a, b}, {t<Out>({2, 2}, first)});
  check(with(Opt<int64_t>()), {a, t<In>({}, {1})}, run(with(Opt<int64_t>()), {a, t<In>({1, 1}, {1})}));
  check_fails(plain, {a, b}, "extents without broadcast differ");
  check_fails(plain, {a, t<In>({2, 1}, {1, 2})}, "extents without broadcast differ: 2 and 1");
  check_fails(with(Opt<int64_t>(2)), {a, b}, "does not match the axes");
  check_fails(with(Opt<int64_t>(INT64_MAX)), {a, b}, "does not match the axes");
  check_fails(with(Opt<int64_t>(INT64_MIN)), {a, b}, "does not match the axes");
  check_fails(with(Opt<int64_t>()), {b, a}, "does not match the axes");
  check_fails(with(Opt<int64_t>()), {a, t<In>({3}, {1, 2, 3})}, "extents differ: 2 and 3");
  // In a graph newest nodes stand in their place.
  for (int version : Op::spec.since) {
    CAPTURE(version);
    const auto along = [&](int64_t axis) {
      return stated<Op>(version, {{"axis", axis}, {"broadcast", int64_t{1}}});
    };
    const Stated alone = stated<Op>(version), stretched = stated<Op>(version, {{"broadcast", int64_t{1}}});
    check(alone, {a, t<In>({2, 2}, {4, 2, 1, 2})}, {t<Out>({2, 2}, same)});
    check(alone, {a, t<In>({}, {1})}, run(alone, {a, t<In>({2, 2}, {1, 1, 1, 1})}));
    check(stretched, {a, b}, {t<Out>({2, 2}, last)});
    for (int64_t axis : {1, -1}) check(along(axis), {a, b}, {t<Out>({2, 2}, last)});
    for (int64_t axis : {0, -2}) check(along(axis), {a, b}, {t<Out>({2, 2}, first)});
    for (int64_t axis : {0, 1}) check(along(axis), {a, t<In>({1}, {1})}, run(stretched, {a, t<In>({}, {1})}));
    check(along(0), {a, t<In>({2, 1}, {1, 3})}, {t<Out>({2, 2}, first)});
    check_fails(alone, {a, b}, "extents without broadcast differ");
    check_fails(alone, {a, t<In>({2, 1}, {1, 2})}, "extents without broadcast differ: 2 and 1");
    check_fails(along(2), {a, b}, "does not match the axes");
    check_fails(stretched, {b, a}, "does not match the axes");
    check_fails(stretched, {a, t<In>({3}, {1, 2, 3})}, "extents differ: 2 and 3");
  }
}

}  // namespace tenon::test

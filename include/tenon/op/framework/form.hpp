// Checks the form of a registered operator beyond `compute`. Messages tell the author which part is missing.
#pragma once

#include "tenon/op/framework/attribute.hpp"
#include "tenon/op/framework/report.hpp"

namespace tenon::TENON_ABI::op::detail {

struct Call {
  void operator()();
};
/// A name that two bases share is ambiguous, so naming `operator()` fails if Op has one.
template <class Op>
struct CallProbe : Op, Call {};

/// The first part of the form that Op lacks; empty when there is none.
template <class Op>
consteval Message missing_form() {
  Message m;
  if constexpr (requires { &CallProbe<Op>::operator(); })
    m.add("has no operator(), which returns call(*this, in...)");
  else if constexpr (!requires(const Op& op, Infer& i) { op.infer(i); }) m.add("has no infer(Infer&) const");
  else
    for_each_attribute<Op>([&]<class Row>(const Row& a) {
      if (m.empty() && !requires { Member<typename Row::type>::type; })
        m.add("attribute "), m.add(a.name), m.add(" has a member whose type no attribute can have");
    });
  return m;
}

}  // namespace tenon::TENON_ABI::op::detail

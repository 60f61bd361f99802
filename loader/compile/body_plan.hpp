// Plans that include what bodies do.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/graph/session.hpp"

namespace tenon::TENON_ABI::emission {

/// The graph that is a node's attribute. Refused if the body is no graph.
const GraphBody& body_of(const GraphNode& n, std::string_view attribute);

/// Infers the nodes that run bodies with the extents that the bodies' captured values have in a plan. A
/// session knows those before a run only as far as the graph tells.
class BodyPlans final : public tenon::detail::BodyRules {
 public:
  using Infos = std::vector<op::Info>;

  op::Message infer(const tenon::detail::Plan& plan, const GraphNode& n, std::span<const op::Info> in,
                    std::span<op::Info> out) const override;

  tenon::detail::Plan plan(const Program& program, std::span<const op::Info> given) const {
    return tenon::detail::Planner(program, given, false, this).take();
  }
  /// The infos of a body's given values in each of its runs: of its inputs, and of what it captures. Empty if
  /// the node's rule did not ask for the body's results, because no run needs them.
  const Infos& given(const GraphNode& n, std::string_view attribute) const;

 private:
  // A node of a body is inferred whenever the body is planned, each time with better infos.
  mutable std::map<std::pair<const GraphNode*, std::string>, Infos, std::less<>> given_;
};

}  // namespace tenon::TENON_ABI::emission

// fuse_elementwise: connected elementwise nodes with results of the same extents become one node. It runs all
// its steps a tile at a time, so that only its operands and its result go through memory. Consecutive cheap
// functions of floats form one step, whose intermediate results stay in registers. Nodes whose results are
// known to be small stay as they are.
#pragma once

#include "tenon/graph/fused/fused_elementwise.hpp"
#include "tenon/graph/passes/match.hpp"
#include "tenon/graph/passes/packed.hpp"
#include "tenon/op/math/abs.hpp"
#include "tenon/op/math/max.hpp"
#include "tenon/op/math/min.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/math/sqrt.hpp"
#include "tenon/op/math/sub.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

class ElementwiseGroups {
 public:
  explicit ElementwiseGroups(Program& program) : p_(program) {}

  void apply() {
    // Backwards, so that a group starts at the node that makes its final result.
    for (int n = static_cast<int>(p_.nodes().size()); n-- > 0;)
      if (p_.node(n).op && fuses(n)) fuse(n);
  }

 private:
  static constexpr std::size_t most_steps = 64;

  /// Whether a node computes each element of a result of floats from its operands' elements at the same
  /// place, and from numbers.
  bool fuses(int n) const {
    const Graph::Node& node = p_.node(n);
    if (!fits(p_, n) || !is_elementwise(node) || !node.op.planned() ||
        node.inputs.size() > FusedElementwise::max_inputs || !is_fused_type(p_, node.outputs[0]))
      return false;
    // Results of one tile stay in the cache anyway.
    const Dim count = p_.info(node.outputs[0]).dims.count();
    if (count.known() && count.value() <= FusedElementwise::tile) return false;
    const bool function = node.op.elements() == op::Elements::function;
    bool any = false;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId v = node.inputs[k];
      if (v < 0) continue;
      const bool whole = is_whole(v, node) && !(function && k > 0);
      if (p_.info(v).type.element == DType::string) return false;  // errors would name the wrong node
      if (!whole && !p_.info(v).dims.count().is(1)) return false;
      any |= whole;
    }
    return any;
  }
  bool is_whole(ValueId v, const Graph::Node& node) const {
    return p_.info(v).dims.same(p_.info(node.outputs[0]).dims);
  }

  /// Whether only these nodes read a value.
  bool read_by(const std::vector<int>& group, ValueId v) const {
    return !p_.is_output(v) && std::ranges::all_of(p_.readers(v), [&](int n) {
      return std::ranges::find(group, n) != group.end();
    });
  }

  void fuse(int last) {
    std::vector<int> group{last};  // in descending order
    for (bool grown = true; grown && group.size() < most_steps;) {
      grown = false;
      for (std::size_t g = 0; g < group.size() && !grown; ++g)
        for (ValueId v : p_.node(group[g]).inputs) {
          const int m = v < 0 ? -1 : p_.maker(v);
          if (m < 0 || std::ranges::find(group, m) != group.end() || !fuses(m) ||
              !is_whole(v, p_.node(last)) || !read_by(group, v))
            continue;
          group.push_back(m);
          grown = true;
        }
    }
    if (group.size() < 2) return;
    std::ranges::sort(group);
    FusedElementwise fused;
    std::vector<ValueId> operands;
    std::map<ValueId, int> numbers;  // as in Step::inputs
    std::string text;
    for (const int n : group) {
      const Graph::Node& node = p_.node(n);
      FusedElementwise::Step step{node.op, {}, 0, {}};
      std::vector<ValueId> inputs = node.inputs;
      if (const auto link = link_of(node, inputs)) step.chain = {*link}, step.op = {};
      for (ValueId v : inputs) {
        if (v >= 0 && !numbers.contains(v)) {
          numbers[v] = static_cast<int>(operands.size());
          operands.push_back(v);
          fused.whole.push_back(is_whole(v, p_.node(last)));
        }
        step.inputs.push_back(v < 0 ? FusedElementwise::absent : numbers[v]);
      }
      numbers[node.outputs[0]] = ~static_cast<int>(fused.steps.size());
      fused.steps.push_back(std::move(step));
      text += str_cat(text.empty() ? "" : ", ", p_.label(n));
    }
    join_chains(fused, group);
    give_buffers(fused, group);
    p_.applied(last, "fused: ", text);
    p_.replace(last, AnyOperator::make(fused), std::move(operands));
  }

  /// The chain function of a unary operator, and of a binary one.
  static std::optional<kernels::ChainStep::Function> function_of_one(const AnyOperator& op) {
    using enum kernels::ChainStep::Function;
    if (op.as<op::Abs>()) return absolute;
    if (op.as<op::Clip>()) return clip;
    if (op.as<op::Neg>()) return negate;
    if (op.as<op::Relu>()) return relu;
    if (op.as<op::Sqrt>()) return sqrt;
    return {};
  }
  static std::optional<kernels::ChainStep::Function> function_of_two(const AnyOperator& op) {
    using enum kernels::ChainStep::Function;
    if (op.as<op::Add>()) return add;
    if (op.as<op::Div>()) return div;
    if (op.as<op::Max>()) return max;
    if (op.as<op::Min>()) return min;
    if (op.as<op::Mul>()) return mul;
    if (op.as<op::Sub>()) return sub;
    return {};
  }
  /// The chain link for a node, if its operands are floats. `inputs` keeps only the arrays.
  std::optional<FusedElementwise::Link> link_of(const Graph::Node& node, std::vector<ValueId>& inputs) const {
    if (!is_floats(node.inputs[0]) || !is_floats(node.outputs[0])) return {};
    if (const auto of_two = function_of_two(node.op)) {
      FusedElementwise::Link link{{.function = *of_two}};
      if (inputs.size() != 2) return {};
      const bool first = is_whole(inputs[0], node), second = is_whole(inputs[1], node);
      link.operand = first && second;
      if (link.operand != 0) return link;
      const auto other = number(p_, inputs[first ? 1 : 0], inputs[first ? 0 : 1]);
      if (!other) return {};
      link.step.number = static_cast<float>(*other);
      link.step.second = !first;
      inputs = {inputs[first ? 0 : 1]};
      return link;
    }
    const auto of_one = function_of_one(node.op);
    if (!of_one) return {};
    FusedElementwise::Link link{{.function = *of_one}};
    if (node.op.as<op::Clip>()) {
      const auto bounds = bounds_of(p_, node, inputs[0]);
      if (!bounds) return {};
      link.step.number = static_cast<float>(bounds->lo), link.step.bound = static_cast<float>(bounds->hi);
    }
    inputs.resize(1);
    return link;
  }
  bool is_floats(ValueId v) const {
    const Type& t = p_.info(v).type;
    return t.kind == Kind::tensor && t.element == DType::float32;
  }

  /// Merges each chain with the chain that is its result's only reader. `group` has the last node of each
  /// step.
  static void join_chains(FusedElementwise& fused, std::vector<int>& group) {
    auto& steps = fused.steps;
    const auto readers = [&](int v) {
      std::ptrdiff_t count = 0;
      for (const auto& step : steps) count += std::ranges::count(step.inputs, v);
      return count;
    };
    for (auto& step : steps) {
      if (step.chain.empty()) continue;
      for (std::size_t k = 0; k < step.inputs.size(); ++k) {
        const int v = step.inputs[k];
        if (v >= 0) continue;
        auto& before = steps[static_cast<std::size_t>(~v)];
        if (before.chain.empty() || readers(v) != 1 || before.chain.size() == FusedElementwise::max_links ||
            before.inputs.size() + step.inputs.size() - 1 > FusedElementwise::max_inputs)
          continue;
        FusedElementwise::Link link = step.chain[0];
        if (link.operand != 0) {
          if (k == 1) link.step.second = !link.step.second;
          link.operand = before.inputs.size();
          before.inputs.push_back(step.inputs[1 - k]);
        }
        before.chain.push_back(link);
        step.chain = std::exchange(before.chain, {});
        step.inputs = std::exchange(before.inputs, {});
        break;
      }
    }
    // Steps that were merged into others have no inputs left.
    std::vector<int> places;
    std::size_t count = 0;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      places.push_back(static_cast<int>(count));
      if (steps[s].inputs.empty()) continue;
      for (int& v : steps[s].inputs)
        if (v < 0) v = ~places[static_cast<std::size_t>(~v)];
      if (s != count) steps[count] = std::move(steps[s]), group[count] = group[s];
      ++count;
    }
    steps.resize(count), group.resize(count);
  }

  /// Reuses buffers of dead results. A step may overwrite its own operands.
  void give_buffers(FusedElementwise& fused, const std::vector<int>& group) const {
    std::vector<int> free;
    const auto element = [&](std::size_t s) { return p_.info(p_.node(group[s]).outputs[0]).type.element; };
    for (std::size_t s = 0; s + 1 < fused.steps.size(); ++s) {
      for (const int v : fused.steps[s].inputs) {
        if (v >= 0) continue;
        const auto reads = [&](const FusedElementwise::Step& later) {
          return std::ranges::count(later.inputs, v) > 0;
        };
        const int buffer = fused.steps[static_cast<std::size_t>(~v)].buffer;
        if (std::any_of(fused.steps.begin() + static_cast<std::ptrdiff_t>(s) + 1, fused.steps.end(), reads) ||
            std::ranges::find(free, buffer) != free.end())
          continue;
        free.push_back(buffer);
      }
      const auto fit = std::ranges::find(free, element(s),
                                         [&](int b) { return fused.buffers[static_cast<std::size_t>(b)]; });
      if (fit != free.end()) {
        fused.steps[s].buffer = *fit;
        free.erase(fit);
      } else {
        fused.steps[s].buffer = static_cast<int>(fused.buffers.size());
        fused.buffers.push_back(element(s));
      }
    }
    fused.steps.back().buffer = static_cast<int>(fused.buffers.size());
    fused.element = element(fused.steps.size() - 1);
  }

  Program& p_;
};

}  // namespace detail

inline void apply_fuse_elementwise(Program& program) { detail::ElementwiseGroups(program).apply(); }

inline constexpr Pass fuse_elementwise{"fuse_elementwise", apply_fuse_elementwise};

}  // namespace tenon::TENON_ABI::passes

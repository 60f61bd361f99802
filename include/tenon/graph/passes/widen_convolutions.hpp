// widen_convolutions: convolutions of 16-bit floats, and the nodes between them, compute in float, which has
// convolutions with blocked channels, Winograd's tiles and chains. Constants are widened, and Casts are
// inserted where a region begins and ends.
//
// Results are rounded at the end of a region, not after each node. A value beyond float16's maximum is
// infinite in the plain graph, but stays finite within a region; if later nodes bring it back into range, the
// result is finite. The specification leaves the precision between nodes open.
#pragma once

#include <algorithm>
#include <map>

#include "tenon/graph/passes/drop_casts.hpp"
#include "tenon/op/nn/conv.hpp"
#include "tenon/op/nn/conv_transpose.hpp"
#include "tenon/op/tensor/transpose.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

class WideRegions {
 public:
  explicit WideRegions(Program& program) : p_(program) {}

  void apply() {
    if (!choose()) return;
    p_.for_each_node([&](int n, const Graph::Node& node) {
      if (taken_[static_cast<std::size_t>(n)]) widen(n);
      else if (const auto* cast = node.op.as<op::Cast>()) pass_on(n, *cast);
    });
  }

 private:
  bool is_narrow(ValueId v) const {
    const Type& t = p_.info(v).type;
    return t.kind == Kind::tensor && (t.element == DType::float16 || t.element == DType::bfloat16);
  }

  /// Whether the node is a convolution of 16-bit floats with constant weights.
  bool is_convolution(int n) const {
    const Graph::Node& node = p_.node(n);
    if (!(node.op.as<op::Conv>() || node.op.as<op::ConvTranspose>()) || !is_ready(n)) return false;
    const bool constant = stored_floats(p_, node.inputs[1]) != nullptr;
    if (!constant) p_.skipped(n, "the weights are not constant");
    return constant;
  }
  /// Whether the node has operands and results of 16-bit floats that may become float.
  bool is_ready(int n) const {
    const Graph::Node& node = p_.node(n);
    return !node.inputs.empty() && node.inputs[0] >= 0 && is_narrow(node.inputs[0]) && fits(p_, n) &&
           is_narrow(node.outputs[0]) && node.captures.empty() && node.op.computes(DType::float32) &&
           std::ranges::none_of(node.outputs, [&](ValueId v) { return p_.is_captured(v); });
  }
  /// Whether the node may lie between convolutions: it computes the same function at any precision, and has
  /// only images as large operands. The other operand of a product would have to be widened as well.
  bool stands_between(int n) const {
    if (!is_ready(n)) return false;
    const Graph::Node& node = p_.node(n);
    const op::Spec& spec = node.op.spec();
    const op::Param &x = spec.input(0), &y = spec.output(0);
    if (spec.variable(x.type) < 0 || y.type != x.type || x.heterogeneous || !spec.deterministic) return false;
    if (node.op.as<op::Transpose>()) return shuffles_planes(n);
    return node.op.elements() != op::Elements::any || (has_small_parameters(node) && !node.op.takes_graphs());
  }
  /// Whether all operands after the first are integers, or constants of at most one number per channel.
  bool has_small_parameters(const Graph::Node& node) const {
    const Dims& x = p_.info(node.inputs[0]).dims;
    const int64_t channels = x.rank() > 1 && x[1].known() ? x[1].value() : 1;
    return std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ValueId v) {
      if (v < 0 || !is_narrow(v)) return true;
      const AnyTensor* parameters = stored_floats(p_, v);
      return parameters != nullptr && parameters->size() <= channels;
    });
  }
  /// Whether the node, a Transpose, keeps rows intact. Shuffles of channels do; transposes before matrix
  /// products do not.
  bool shuffles_planes(int n) const {
    const auto* transpose = p_.node(n).op.as<op::Transpose>();
    const Dims& x = p_.info(p_.node(n).inputs[0]).dims;
    return x.ranked() && x.rank() > 1 && transpose->source(x.rank() - 1, x.rank()) == x.rank() - 1;
  }

  /// Chooses convolutions, nodes between them, and nodes after them that read nothing else. False without any
  /// convolution.
  bool choose() {
    const std::size_t count = p_.nodes().size();
    enum : char { none, between, convolution };
    std::vector<char> kind(count), before(count);
    taken_.assign(count, false);
    bool any = false;
    for (std::size_t n = 0; n < count; ++n) {
      const int number = static_cast<int>(n);
      kind[n] = is_convolution(number) ? convolution : stands_between(number) ? between : none;
      any |= kind[n] == convolution;
    }
    if (!any) return false;
    for (std::size_t n = count; n-- > 0;) {
      before[n] = kind[n] == convolution;
      for (ValueId v : p_.node(static_cast<int>(n)).outputs)
        for (int reader : p_.readers(v))
          before[n] |= kind[n] == between && before[static_cast<std::size_t>(reader)] != 0;
    }
    std::vector<char> after(count);
    for (std::size_t n = 0; n < count; ++n) {
      bool all = true;
      after[n] = kind[n] == convolution;
      for (ValueId v : p_.node(static_cast<int>(n)).inputs) {
        if (v < 0 || p_.stored(v) || !is_narrow(v)) continue;
        const int maker = p_.maker(v);
        after[n] |= kind[n] == between && maker >= 0 && after[static_cast<std::size_t>(maker)] != 0;
        all = all && maker >= 0 && taken_[static_cast<std::size_t>(maker)];
      }
      taken_[n] = kind[n] == convolution || (after[n] != 0 && (before[n] != 0 || all));
    }
    return true;
  }

  /// The value in float, for node n.
  ValueId wide(int n, ValueId v) {
    if (v < 0 || !is_narrow(v)) return v;
    const auto [found, is_new] = wide_.emplace(v, -1);
    if (is_new) found->second = cast(n, v, DType::float32);
    return found->second;
  }
  ValueId cast(int n, ValueId v, DType to) {
    return p_.add_node(n, AnyOperator::make(op::Cast{.to = static_cast<int64_t>(to)}), {v})[0];
  }
  void widen(int n) {
    const Graph::Node& node = p_.node(n);
    p_.applied(n, "in float");
    std::vector<ValueId> inputs;
    for (ValueId v : node.inputs) inputs.push_back(wide(n, v));
    const std::vector<ValueId> from = node.outputs;
    const std::vector<ValueId> to = p_.add_node(n, node.op, std::move(inputs), static_cast<int>(from.size()));
    for (std::size_t k = 0; k < from.size(); ++k) {
      if (!is_narrow(from[k])) {
        p_.redirect(from[k], to[k]);
        continue;
      }
      const ValueId narrow = cast(n, to[k], p_.info(from[k]).type.element);
      wide_[narrow] = to[k];
      p_.redirect(from[k], narrow);
    }
  }
  /// Replaces a Cast to float of a region's result with the wide result.
  void pass_on(int n, const op::Cast& cast) {
    const ValueId x = p_.node(n).inputs[0];
    const auto found = wide_.find(x);
    if (found == wide_.end() || cast.to != static_cast<int64_t>(DType::float32)) return;
    if (p_.is_output(p_.node(n).outputs[0])) p_.redirect(n, x, found->second);
    else drop(p_, n, found->second);
  }

  Program& p_;
  std::vector<bool> taken_;
  std::map<ValueId, ValueId> wide_;
};

}  // namespace detail

inline void apply_widen_convolutions(Program& program) { detail::WideRegions(program).apply(); }

inline constexpr Pass widen_convolutions{"widen_convolutions", apply_widen_convolutions};

}  // namespace tenon::TENON_ABI::passes

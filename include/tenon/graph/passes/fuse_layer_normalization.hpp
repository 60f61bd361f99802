// fuse_layer_normalization: normalisations over trailing axes that are exported as means, squares and roots
// become LayerNormalization, or RMSNormalization if no mean is subtracted.
#pragma once

#include "tenon/graph/passes/match.hpp"
#include "tenon/op/math/pow.hpp"
#include "tenon/op/math/reciprocal.hpp"
#include "tenon/op/math/sqrt.hpp"
#include "tenon/op/math/sub.hpp"
#include "tenon/op/nn/layer_normalization.hpp"
#include "tenon/op/nn/rms_normalization.hpp"
#include "tenon/op/reduction/reduce_mean.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

class Normalizations {
 public:
  explicit Normalizations(Program& program) : p_(program) {}

  void apply() {
    p_.for_each<op::Sqrt>([&](int n, const op::Sqrt&) {
      nodes_ = {n};
      if (!find_operand(n)) return;  // a root of something else
      if (!is_fused_type(p_, x_)) return p_.skipped(n, "it normalises no float32, float16 or bfloat16");
      if (!find_quotient(n)) return p_.skipped(n, "nothing is divided by it alone that it normalises");
      const int last = nodes_.back();
      nodes_.pop_back();
      if (!is_private(p_, nodes_, last)) return p_.skipped(n, "a value within is read elsewhere");
      put(n, last);
    });
  }

 private:
  const Graph::Node& node(int n) const { return p_.node(n); }
  ValueId result(int n) const { return node(n).outputs[0]; }

  /// The first of the trailing axes that a mean with keepdims reduces; -1 if it reduces others, or unknown
  /// ones.
  int mean_axis(const Graph::Node& n) const {
    const auto* mean = n.op.as<op::ReduceMean>();
    const Dims& x = p_.info(n.inputs[0]).dims;
    if (mean == nullptr || mean->keepdims != 1 || !x.ranked() || x.rank() == 0) return -1;
    uint32_t axes = (1u << x.rank()) - 1;
    if (n.inputs.size() > 1 && n.inputs[1] >= 0) {
      const Value& c = p_.constant(n.inputs[1]);
      if (!c.is_tensor() || !fits(p_, p_.maker(n.outputs[0]))) return -1;
      axes = op::reduced_axes(c.tensor().view().as<int64_t>(), x.rank(), mean->noop_with_empty_axes != 0);
    } else if (mean->noop_with_empty_axes != 0) {
      return -1;
    }
    const int first = std::countr_zero(axes);
    return axes != 0 && axes == (1u << x.rank()) - (1u << first) ? first : -1;
  }

  /// Whether v is x minus its mean over the axes from axis_ on. Records the nodes.
  bool is_centered(ValueId v, ValueId x) {
    const Graph::Node* sub = made_by<op::Sub>(p_, v);
    if (sub == nullptr || sub->inputs[0] != x) return false;
    const Graph::Node* mean = made_by<op::ReduceMean>(p_, sub->inputs[1]);
    if (mean == nullptr || mean->inputs[0] != x || mean_axis(*mean) != axis_) return false;
    nodes_.push_back(p_.maker(v));
    nodes_.push_back(p_.maker(sub->inputs[1]));
    return true;
  }

  /// Whether node n is the root of deviation_'s mean square plus epsilon_. Records the nodes.
  bool find_operand(int n) {
    const ValueId sum = node(n).inputs[0];
    const int add = p_.maker(sum);
    if (add < 0 || !is_sum(node(add))) return false;
    const std::vector<ValueId>& in = node(add).inputs;
    const int at = number(p_, in[1], in[0]) ? 0 : 1;
    const auto epsilon = number(p_, in[static_cast<std::size_t>(1 - at)], in[static_cast<std::size_t>(at)]);
    const ValueId variance = in[static_cast<std::size_t>(at)];
    const Graph::Node* mean = made_by<op::ReduceMean>(p_, variance);
    if (!epsilon || mean == nullptr || (axis_ = mean_axis(*mean)) < 0) return false;
    const int square = p_.maker(mean->inputs[0]);
    if (square < 0) return false;
    const std::vector<ValueId>& of = node(square).inputs;
    const bool pow = node(square).op.as<op::Pow>() && number(p_, of[1], of[0]) == 2.0;
    if (!pow && !(node(square).op.as<op::Mul>() && of[0] == of[1])) return false;
    epsilon_ = static_cast<float>(*epsilon);
    nodes_.insert(nodes_.end(), {add, p_.maker(variance), square});
    deviation_ = of[0];
    const Graph::Node* sub = made_by<op::Sub>(p_, deviation_);
    centered_ = sub != nullptr && is_centered(deviation_, sub->inputs[0]);
    x_ = centered_ ? sub->inputs[0] : deviation_;
    return true;
  }

  /// Whether the root's only reader divides the deviation by it. Records the nodes, the division last.
  bool find_quotient(int n) {
    int next = p_.only_reader(result(n));
    if (next < 0) return false;
    ValueId root = result(n), over = -1;
    const std::vector<ValueId>* in = &node(next).inputs;
    const bool one_over =
        node(next).op.as<op::Div>() && (*in)[1] == root && number(p_, (*in)[0], root) == 1.0;
    if (node(next).op.as<op::Reciprocal>() || one_over) {
      nodes_.push_back(next);
      root = result(next);
      next = p_.only_reader(root);
      if (next < 0 || !node(next).op.as<op::Mul>()) return false;
      in = &node(next).inputs;
      over = (*in)[(*in)[0] == root ? 1 : 0];
    } else if (node(next).op.as<op::Div>() && (*in)[1] == root) {
      over = (*in)[0];
    }
    // Some exporters subtract the mean once for the squares and once for the quotient.
    if (over != deviation_ && !(centered_ && is_centered(over, x_))) return false;
    nodes_.push_back(next);
    return true;
  }

  /// The operand of node n other than v, if it broadcasts along the axes from axis_ on and is the same for
  /// all rows; else -1.
  ValueId of_each_row(int n, ValueId v) const {
    const std::vector<ValueId>& in = node(n).inputs;
    const ValueId other = in[in[0] == v ? 1 : 0];
    const Dims &x = p_.info(x_).dims, &d = p_.info(other).dims;
    if (other == v || !d.ranked() || d.rank() > x.rank()) return -1;
    for (int k = 1; k <= d.rank(); ++k) {
      const bool own = x.rank() - k >= axis_ && d[d.rank() - k].same(x[x.rank() - k]);
      if (!own && !d[d.rank() - k].is(1)) return -1;
    }
    return other;
  }

  /// Replaces the node `last`, and a scale and bias after it, with the normalisation of x_.
  void put(int n, int last) {
    ValueId scale = -1, bias = -1;
    std::string with;
    const auto next_is = [&](auto fuses) {
      const int next = p_.only_reader(result(last));
      if (next < 0 || !fits(p_, next) || !fuses(node(next))) return ValueId{-1};
      const ValueId other = of_each_row(next, result(last));
      if (other >= 0) last = next, with += str_cat(", ", p_.label(next));
      return other;
    };
    scale = next_is([](const Graph::Node& m) { return m.op.as<op::Mul>() != nullptr; });
    if (centered_) bias = next_is(is_sum);
    const DType element = p_.info(x_).type.element;
    if (scale < 0) {
      Value one;
      visit_types(float_types{}, element,
                  [&]<class T>() { one = AnyTensor(Tensor<T>({}, {static_cast<T>(1.0f)})); });
      scale = p_.add_constant({}, std::move(one));
    }
    const int64_t axis = axis_ - p_.info(x_).dims.rank();
    constexpr uint32_t filter = fused_types.tensor;
    p_.applied(n, "fused into ", centered_ ? "LayerNormalization" : "RMSNormalization", with);
    if (!centered_)
      return p_.replace(last,
                        AnyOperator::make<op::RMSNormalization, filter>({.axis = axis, .epsilon = epsilon_}),
                        {x_, scale});
    std::vector<ValueId> operands{x_, scale};
    if (bias >= 0) operands.push_back(bias);
    p_.replace(last, AnyOperator::make<op::LayerNormalization, filter>({.axis = axis, .epsilon = epsilon_}),
               std::move(operands));
  }

  Program& p_;
  std::vector<int> nodes_;
  ValueId x_ = -1, deviation_ = -1;
  int axis_ = -1;
  bool centered_ = false;  // whether the deviation is x minus its mean, not x itself
  float epsilon_ = 0;
};

}  // namespace detail

inline void apply_fuse_layer_normalization(Program& program) { detail::Normalizations(program).apply(); }

inline constexpr Pass fuse_layer_normalization{"fuse_layer_normalization", apply_fuse_layer_normalization};

}  // namespace tenon::TENON_ABI::passes

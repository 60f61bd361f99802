// fuse_attention: softmax(Q K^T * scale + mask) V over batches of heads becomes a FusedAttention, which never
// stores the matrix of scores. The softmax of 16-bit scores may be computed in float, between Casts. K and V
// that repeat heads (Unsqueeze, Expand, Reshape) are read unrepeated. If Q, K and V are transposes of (batch,
// steps, heads, size), and the result is transposed back, it reads and writes (batch, steps, heads * size).
#pragma once

#include "tenon/graph/fused/fused_attention.hpp"
#include "tenon/graph/passes/match.hpp"
#include "tenon/op/math/expand.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

class Attentions {
 public:
  explicit Attentions(Program& program) : p_(program) {}

  void apply() {
    p_.for_each<op::Softmax>([&](int n, const op::Softmax& softmax) {
      ValueId in = p_.node(n).inputs[0], weights = p_.node(n).outputs[0];
      const int widening = widening_of(n);
      if (widening >= 0) {
        in = p_.node(widening).inputs[0];
        weights = p_.node(p_.only_reader(weights)).outputs[0];
      }
      if (!of_rank_4(in)) return p_.skipped(n, "its operand is not known to have rank 4");
      if (softmax.axis != -1 && softmax.axis != 3) return p_.skipped(n, "it is not over the last axis");
      const int last = p_.only_reader(weights);
      if (last < 0 || !p_.node(last).op.as<op::MatMul>() || p_.node(last).inputs[0] != weights)
        return p_.skipped(n, "its result does not go to a MatMul alone");
      if (!find_mask(in) && !find_scores(in))
        return p_.skipped(n, "its operand is no product by a transpose");
      if (widening >= 0) nodes_.push_back(widening);
      if (!is_private(p_, nodes_, n)) return p_.skipped(n, "a value within is read elsewhere");
      put(n, last);
    });
  }

 private:
  const Dims& dims(ValueId v) const { return p_.info(v).dims; }
  bool of_rank_4(ValueId v) const { return dims(v).ranked() && dims(v).rank() == 4; }

  /// The Cast of 16-bit scores to float before a softmax, if its result alone is cast back, or -1.
  int widening_of(int softmax) const {
    const auto cast = [&](int n) { return n >= 0 && p_.node(n).op.as<op::Cast>() != nullptr; };
    const auto type = [&](ValueId v) { return p_.info(v).type.element; };
    const int before = p_.maker(p_.node(softmax).inputs[0]),
              after = p_.only_reader(p_.node(softmax).outputs[0]);
    if (!cast(before) || !cast(after)) return -1;
    const DType from = type(p_.node(before).inputs[0]);
    const bool widens = (from == DType::float16 || from == DType::bfloat16) &&
                        type(p_.node(before).outputs[0]) == DType::float32;
    return widens && type(p_.node(after).outputs[0]) == from ? before : -1;
  }

  /// The value from which v is made by scaling; the factors are multiplied into scale_. Records the nodes in
  /// `through`, if given.
  ValueId unscaled(ValueId v, std::vector<int>* through = nullptr) {
    for (int n = p_.maker(v); n >= 0; n = p_.maker(v)) {
      const Graph::Node& node = p_.node(n);
      const bool mul = node.op.as<op::Mul>() != nullptr;
      if (!mul && !node.op.as<op::Div>()) break;
      ValueId x = node.inputs[0];
      auto factor = number(p_, node.inputs[1], x);
      if (!factor && mul) x = node.inputs[1], factor = number(p_, node.inputs[0], x);
      if (!factor) break;
      mul ? scale_ *= * factor : scale_ /= *factor;
      if (through) through->push_back(n);
      v = x;
    }
    return v;
  }

  /// Whether v is the scaled product of q_ and the transpose of another value. Records the nodes whose
  /// results have a row for each query.
  bool find_scores(ValueId v) {
    nodes_.clear();
    scale_ = 1;
    const int n = p_.maker(unscaled(v, &nodes_));
    if (n < 0 || !p_.node(n).op.as<op::MatMul>()) return false;
    nodes_.push_back(n);
    product_ = p_.node(n).outputs[0];
    q_ = unscaled(p_.node(n).inputs[0]);
    keys_ = unscaled(p_.node(n).inputs[1]);
    const Graph::Node* transpose = made_by<op::Transpose>(p_, keys_);
    if (!of_rank_4(keys_) || transpose == nullptr) return false;
    mask_ = -1;
    return true;
  }
  /// The same through a sum with mask_, which broadcasts to the scores.
  bool find_mask(ValueId v) {
    const int n = p_.maker(v);
    if (n < 0 || !is_sum(p_.node(n))) return false;
    const std::vector<ValueId>& in = p_.node(n).inputs;
    const bool first = find_scores(in[0]);
    if (!first && !find_scores(in[1])) return false;
    nodes_.push_back(n);
    mask_ = in[first ? 1 : 0];
    return true;
  }
  /// Whether the sum with the mask has the scores' extents. If it has more keys, V does not fit.
  bool stretches(ValueId mask) const {
    const Dims &m = dims(mask), &s = dims(product_);
    if (!m.ranked() || !s.ranked() || m.rank() > s.rank()) return false;
    for (int k = 2; k <= m.rank(); ++k) {
      const Dim a = m[m.rank() - k], b = s[s.rank() - k];
      if (!a.is(1) && !a.same(b) && !(b.known() && b.value() > 1)) return false;
    }
    return true;
  }

  /// The value whose heads v repeats, each several times in a row, or v.
  ValueId unrepeated(ValueId v) const {
    const Graph::Node* const reshape = made_by<op::Reshape>(p_, v);
    const Graph::Node* const expand = reshape ? made_by<op::Expand>(p_, reshape->inputs[0]) : nullptr;
    const Graph::Node* const unsqueeze = expand ? made_by<op::Unsqueeze>(p_, expand->inputs[0]) : nullptr;
    if (unsqueeze == nullptr) return v;
    const ValueId x = unsqueeze->inputs[0];
    const Dims &from = dims(x), &one = dims(expand->inputs[0]), &many = dims(reshape->inputs[0]),
               &to = dims(v);
    if (!of_rank_4(x) || !of_rank_4(v) || !one.ranked() || !many.ranked() || many.rank() != 5) return v;
    const auto axis = number(p_, unsqueeze->inputs[1], x);
    if (!axis || (*axis != 2 && *axis != -3)) return v;
    for (const auto& [k, d] : {std::pair{0, 0}, {1, 1}, {3, 2}, {4, 3}})
      if (!many[k].same(from[d])) return v;
    const bool joins_heads = (from[1] * many[2]).known() && to[1].same(from[1] * many[2]) &&
                             to[3].same(from[3]) && (to[0].same(from[0]) || to[2].same(from[2]));
    return joins_heads ? x : v;
  }

  void put(int n, int last) {
    const std::vector<ValueId>& product = p_.node(p_.maker(product_)).inputs;
    ValueId v = p_.node(last).inputs[1];
    if (!is_fused_type(p_, q_) || !fits(p_, last))
      return p_.skipped(n, "it is of no float32, float16 or bfloat16, or V does not fit");
    for (ValueId x : {product[0], product[1], v})
      for (int k = 0; k < 2; ++k)
        if (!of_rank_4(x) || !dims(x)[k].same(dims(product[0])[k]))
          return p_.skipped(n, "the batches and heads of Q, K and V are not known to be the same");
    if (mask_ >= 0 && !stretches(mask_)) return p_.skipped(n, "the mask may be wider than the scores");
    if (!std::isfinite(scale_)) return p_.skipped(n, "the scale is not finite");
    // K is the transpose's operand if it swaps only the last axes, else K has permuted axes.
    const Graph::Node& transpose = *made_by<op::Transpose>(p_, keys_);
    const auto* swap = transpose.op.as<op::Transpose>();
    Ints perm;
    for (int d : {0, 1, 3, 2}) perm.push_back(swap->source(d, 4));
    ValueId k = transpose.inputs[0];
    const bool in_order = std::ranges::equal(perm, std::array{0, 1, 2, 3});
    if (in_order) k = unscaled(k);
    if (const ValueId few_k = unrepeated(k), few_v = unrepeated(v);
        in_order && few_k != k && few_v != v && dims(few_k)[1].same(dims(few_v)[1]))
      k = few_k, v = few_v;
    p_.applied(n, "fused with ", p_.label(last), " and the product before it into Attention");
    if (!in_order) k = p_.add_node(p_.maker(keys_), AnyOperator::make(op::Transpose{perm}), {k})[0];
    std::vector<ValueId> operands{q_, k, v};
    FusedAttention attention{.scale = static_cast<float>(scale_)};
    const int back = steps_before_heads(operands) ? transpose_back(p_.node(last).outputs[0]) : -1;
    const Dim heads = dims(q_)[1], size = dims(v)[3];
    for (ValueId& x : operands) {
      if (back < 0) break;
      x = p_.node(p_.maker(x)).inputs[0];
      const ValueId joined = extents({0, 0, (dims(x)[2] * dims(x)[3]).value()});
      x = p_.add_node(n, AnyOperator::make(op::Reshape{}), {x, joined})[0];
    }
    if (back >= 0) attention.heads = heads.value();
    if (mask_ >= 0) operands.push_back(mask_);
    AnyOperator op = AnyOperator::make<FusedAttention, fused_types.tensor>(attention);
    if (back < 0) return p_.replace(last, std::move(op), std::move(operands), n);
    const ValueId y = p_.add_node(n, std::move(op), std::move(operands))[0];
    p_.replace(back, AnyOperator::make(op::Reshape{}), {y, extents({0, 0, heads.value(), size.value()})});
  }

  /// Whether a node swaps the axes of heads and steps.
  bool swaps_heads(int n) const {
    const auto* op = n < 0 ? nullptr : p_.node(n).op.as<op::Transpose>();
    return op != nullptr && std::ranges::equal(op->perm, std::array{0, 2, 1, 3});
  }
  /// Whether these values are transposes of (batch, steps, heads, size) with known heads and sizes.
  bool steps_before_heads(std::span<const ValueId> values) const {
    return std::ranges::all_of(values, [&](ValueId v) {
      const Dim heads = dims(v)[1], size = dims(v)[3];
      return heads.same(dims(values[0])[1]) && swaps_heads(p_.maker(v)) && heads.known() && !heads.is(0) &&
             size.known() && (heads * size).known();
    });
  }
  /// The only reader of v, if it swaps heads and steps, or -1.
  int transpose_back(ValueId v) const {
    const int n = p_.only_reader(v);
    return swaps_heads(n) ? n : -1;
  }
  ValueId extents(std::initializer_list<int64_t> list) {
    return p_.add_constant({}, AnyTensor(Tensor<int64_t>(Extents{std::ssize(list)}, list)));
  }

  Program& p_;
  std::vector<int> nodes_;
  ValueId q_ = -1, keys_ = -1, mask_ = -1, product_ = -1;  // keys_ is K^T
  double scale_ = 1;
};

}  // namespace detail

inline void apply_fuse_attention(Program& program) { detail::Attentions(program).apply(); }

inline constexpr Pass fuse_attention{"fuse_attention", apply_fuse_attention};

}  // namespace tenon::TENON_ABI::passes

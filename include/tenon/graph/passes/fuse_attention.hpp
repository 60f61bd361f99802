// fuse_attention: softmax(Q K^T * scale, capped, masked) V over batches of heads becomes a FusedAttention,
// which never stores the matrix of scores. A mask is added, or chooses between scores and the least number
// (Where); weights may be 0 where they are NaN. Casts to float of 16-bit scores before the softmax, or of K
// and V, are left out, because attention computes in float anyway. K and V that repeat heads (Unsqueeze,
// Expand, Reshape) are read unrepeated. The batch and the heads may be joined in one axis. If Q, K and V are
// transposes of (batch, steps, heads, size), and the result is transposed back, it reads and writes (batch,
// steps, heads * size). K^T may be transposed with the batch and the heads in one axis. K^T to which a Concat
// adds columns, of a State's pair, becomes a Concat of rows. An Attention reads K and V as they are before
// Casts widen them, before their heads are repeated, and before a Transpose and a Reshape put these side by
// side.
#pragma once

#include "tenon/graph/fused/fused_attention.hpp"
#include "tenon/graph/passes/match.hpp"
#include "tenon/op/families/copy_along.hpp"
#include "tenon/op/generator/constant_of_shape.hpp"
#include "tenon/op/logical/not.hpp"
#include "tenon/op/math/expand.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/max.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/math/tanh.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/is_nan.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/shape.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"
#include "tenon/op/tensor/where.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

class Attentions {
 public:
  explicit Attentions(Program& program) : p_(program) {}

  void apply() {
    p_.for_each<op::Softmax>([&](int n, const op::Softmax& softmax) {
      ValueId in = p_.node(n).inputs[0], weights = p_.node(n).outputs[0];
      const int rank = dims(in).ranked() ? dims(in).rank() : 0;
      if (rank != 3 && rank != 4) return p_.skipped(n, "its operand is not known to have rank 3 or 4");
      if (softmax.axis != -1 && softmax.axis != rank - 1)
        return p_.skipped(n, "it is not over the last axis");
      std::vector<int> around;  // nodes next to the softmax
      nan_is_zero_ = find_guard(weights, around);
      if (const int widening = widening_of(in), narrowing = narrowing_of(weights); narrowing >= 0) {
        if (widening >= 0) around.push_back(widening), in = p_.node(widening).inputs[0];
        around.push_back(narrowing);
        weights = p_.node(narrowing).outputs[0];
      }
      const int joining = p_.only_reader(weights);
      const bool joins = joining >= 0 && rank == 4 && p_.node(joining).op.as<op::Reshape>() != nullptr &&
                         dims(p_.node(joining).outputs[0]).ranked() &&
                         dims(p_.node(joining).outputs[0]).rank() == 3;
      if (joins) around.push_back(joining), weights = p_.node(joining).outputs[0];
      joining_ = joins ? joining : -1;
      const int last = p_.only_reader(weights);
      if (last < 0 || !p_.node(last).op.as<op::MatMul>() || p_.node(last).inputs[0] != weights)
        return p_.skipped(n, "its result does not go to a MatMul alone");
      if (!find_scores(in, most_masks)) return p_.skipped(n, "its operand is no product by a transpose");
      nodes_.insert(nodes_.end(), around.begin(), around.end());
      nodes_.push_back(n);
      if (!is_private(p_, nodes_, last)) return p_.skipped(n, "a value within is read elsewhere");
      put(n, last);
    });
    p_.for_each<op::Attention>([&](int n, const op::Attention& attention) { read_earlier(n, attention); });
  }

 private:
  /// What hides keys, or adds to their scores.
  struct Masking {
    enum class Kind : uint8_t {
      addend,    // `value` is added
      choice,    // where `value` is `shown` the score stays, elsewhere it is `number`
      at_least,  // the greater of the score and `number`
    };
    Kind kind;
    ValueId scores = -1;  // that it masks
    ValueId value = -1;
    bool shown = true;
    double number = 0;
  };
  static constexpr int most_masks = 5;

  const Dims& dims(ValueId v) const { return p_.info(v).dims; }
  bool of_rank_4(ValueId v) const { return dims(v).ranked() && dims(v).rank() == 4; }

  static bool is_half(DType t) { return t == DType::float16 || t == DType::bfloat16; }
  DType type(ValueId v) const { return p_.info(v).type.element; }
  /// The node that makes v, if it is a Cast from 16 bits to float, or -1.
  int widening_of(ValueId v) const {
    const int n = p_.maker(v);
    const bool widens = n >= 0 && p_.node(n).op.as<op::Cast>() != nullptr && type(v) == DType::float32;
    return widens && is_half(type(p_.node(n).inputs[0])) ? n : -1;
  }
  /// The only reader of v, if it is a Cast from float to 16 bits, or -1.
  int narrowing_of(ValueId v) const {
    const int n = p_.only_reader(v);
    const bool narrows = n >= 0 && p_.node(n).op.as<op::Cast>() != nullptr && type(v) == DType::float32;
    return narrows && is_half(type(p_.node(n).outputs[0])) ? n : -1;
  }
  /// v, or its numbers in 16 bits if a Cast has widened them, which attention does itself.
  ValueId narrow(ValueId v) const {
    const int n = type(q_) == DType::float32 ? widening_of(v) : -1;
    return n >= 0 ? p_.node(n).inputs[0] : v;
  }
  /// An Attention reads keys and values before Casts widen them, before their heads are repeated, and before
  /// a Transpose and a Reshape put these side by side, unless it has more to do.
  void read_earlier(int n, const op::Attention& attention) {
    const std::vector<ValueId> in = p_.node(n).inputs, out = p_.node(n).outputs;
    const auto given = [&](std::size_t k) { return k < in.size() && in[k] >= 0; };
    const auto is_read = [&](ValueId v) { return !p_.readers(v).empty() || p_.is_output(v); };
    q_ = in[0];
    const bool side_by_side = dims(q_).ranked() && dims(q_).rank() == 3;
    if (given(4) || given(5) || std::any_of(out.begin() + 1, out.end(), is_read) || !is_fused_type(p_, q_) ||
        (!side_by_side && !of_rank_4(q_)) ||
        (attention.softmax_precision && *attention.softmax_precision != static_cast<int64_t>(DType::float32)))
      return;
    ValueId k = side_by_side ? with_heads_apart(in[1], *attention.kv_num_heads) : in[1],
            v = side_by_side ? with_heads_apart(in[2], *attention.kv_num_heads) : in[2];
    const Dim size = side_by_side ? dims(q_)[2] / *attention.q_num_heads : dims(q_)[3];
    if (k < 0 || v < 0 || (!attention.scale && !size.known())) return;
    k = narrow(k), v = narrow(v);
    const bool repeated = drop_repetition(k, v);
    if (!repeated && k == in[1] && v == in[2]) return;
    p_.applied(n, repeated || side_by_side ? "reads keys and values as their heads are before"
                                           : "reads keys and values in 16 bits");
    FusedAttention fused{.softcap = attention.softcap,
                         .left = attention.left_window_size,
                         .right = attention.is_causal != 0 ? 0 : attention.right_window_size,
                         .one_key_for_all = attention.mask_stretches ? 1 : 0,
                         .none_is_nan = 0};
    fused.scale = attention.scale ? *attention.scale : 1 / std::sqrt(static_cast<float>(size.value()));
    const auto swapped = [&](ValueId x) {
      return p_.add_node(n, AnyOperator::make(op::Transpose{{0, 2, 1, 3}}), {x})[0];
    };
    const auto reshaped = [&](ValueId x, std::initializer_list<int64_t> to) {
      return p_.add_node(n, AnyOperator::make(op::Reshape{}), {x, extents(to)})[0];
    };
    ValueId q = q_;
    if (side_by_side) q = swapped(reshaped(q, {0, 0, *attention.q_num_heads, -1}));
    std::vector<ValueId> operands{q, k, v};
    if (given(3) || given(6)) operands.push_back(in[3]);
    if (given(6)) operands.push_back(in[6]);
    ValueId y =
        p_.add_node(n, AnyOperator::make<FusedAttention, fused_types.tensor>(fused), std::move(operands))[0];
    if (side_by_side) y = reshaped(swapped(y), {0, 0, -1});
    p_.redirect(out[0], y);
  }
  /// (batch, heads, steps, size) of this number of heads, which a Transpose and a Reshape put side by side in
  /// v, or -1.
  ValueId with_heads_apart(ValueId v, int64_t heads) const {
    const Graph::Node* const reshape = made_by<op::Reshape>(p_, v);
    const int n = reshape ? p_.maker(reshape->inputs[0]) : -1;
    if (!swaps_heads(n) || !of_rank_4(p_.node(n).inputs[0]) || dims(v).rank() != 3) return -1;
    const Dims &from = dims(p_.node(n).inputs[0]), &to = dims(v);
    const bool joins =
        from[1].is(heads) && to[2].same(from[1] * from[3]) && (to[0].same(from[0]) || to[1].same(from[2]));
    return joins ? p_.node(n).inputs[0] : -1;
  }
  /// Makes k and v what they repeat the heads of, if they do that both alike.
  bool drop_repetition(ValueId& k, ValueId& v) {
    const ValueId few_k = narrow(unrepeated(k)), few_v = narrow(unrepeated(v));
    if (few_k == k || few_v == v || !dims(few_k)[1].same(dims(few_v)[1])) return false;
    for (const ValueId repeated : {k, v}) serve_shapes(repeated);
    k = few_k, v = few_v;
    return true;
  }
  /// Whether weights that are NaN become 0, Where(IsNaN(weights), 0, weights), which `weights` then is.
  bool find_guard(ValueId& weights, std::vector<int>& nodes) const {
    const std::span<const int> readers = p_.readers(weights);
    if (readers.size() != 2 || p_.is_output(weights)) return false;
    for (const int first : {0, 1}) {
      const int test = readers[static_cast<std::size_t>(first)],
                where = readers[static_cast<std::size_t>(1 - first)];
      if (p_.node(test).op.as<op::IsNaN>() == nullptr || p_.node(where).op.as<op::Where>() == nullptr)
        continue;
      const ValueId condition = p_.node(test).outputs[0];
      const std::vector<ValueId>& in = p_.node(where).inputs;
      if (p_.only_reader(condition) != where || in[0] != condition || in[2] != weights ||
          number(p_, in[1], weights) != 0.0)
        continue;
      nodes.push_back(test), nodes.push_back(where);
      weights = p_.node(where).outputs[0];
      return true;
    }
    return false;
  }

  /// The value from which v is made by scaling; the factors are multiplied into `scale`. Records the nodes in
  /// `through`, if given.
  ValueId unscaled(ValueId v, double& scale, std::vector<int>* through = nullptr) const {
    for (int n = p_.maker(v); n >= 0; n = p_.maker(v)) {
      const Graph::Node& node = p_.node(n);
      const bool mul = node.op.as<op::Mul>() != nullptr;
      if (!mul && !node.op.as<op::Div>()) break;
      ValueId x = node.inputs[0];
      auto factor = number(p_, node.inputs[1], x);
      if (!factor && mul) x = node.inputs[1], factor = number(p_, node.inputs[0], x);
      if (!factor) break;
      mul ? scale *= * factor : scale /= *factor;
      if (through) through->push_back(n);
      v = x;
    }
    return v;
  }

  ValueId unscaled(ValueId v) const {
    double scale = 1;
    return unscaled(v, scale);
  }
  /// Whether v is what a softmax is computed of: the product of q_ and the transpose of another value,
  /// scaled, capped and masked by at most `masks` nodes. Records the nodes whose results have a row for each
  /// query.
  bool find_scores(ValueId v, int masks) {
    std::vector<int> through;
    double factor = 1;
    const ValueId x = unscaled(v, factor, &through);
    const int n = p_.maker(x);
    if (n < 0) return false;
    if (!find_product(n) && (masks == 0 || (!find_capped(n, masks) && !find_masked(n, masks)))) return false;
    if (factor != 1) {
      for (Masking& m : masks_) {
        if (m.kind == Masking::Kind::addend || factor < 0) return false;
        m.number *= factor;
      }
      scale_ *= factor, softcap_ *= std::abs(factor);
    }
    nodes_.insert(nodes_.end(), through.begin(), through.end());
    return true;
  }
  bool find_product(int n) {
    if (!p_.node(n).op.as<op::MatMul>()) return false;
    nodes_ = {n}, masks_.clear(), reshapes_.clear();
    scale_ = 1, softcap_ = 0;
    product_ = p_.node(n).outputs[0];
    q_ = unscaled(p_.node(n).inputs[0], scale_);
    keys_ = narrow(unscaled(p_.node(n).inputs[1], scale_));
    const int rank = dims(keys_).ranked() ? dims(keys_).rank() : 0;
    return (rank == 3 || rank == 4) &&
           (made_by<op::Transpose>(p_, keys_) || joins_columns(keys_) || swapped_in_rows(keys_) >= 0);
  }
  /// Scores tanh(x).
  bool find_capped(int n, int masks) {
    if (!p_.node(n).op.as<op::Tanh>() || !find_scores(p_.node(n).inputs[0], masks - 1) || !masks_.empty() ||
        softcap_ != 0)
      return false;
    softcap_ = 1;
    nodes_.push_back(n);
    return true;
  }
  /// Node n masks scores, or changes the rank of those of a product of rank 3.
  bool find_masked(int n, int masks) {
    const Graph::Node& node = p_.node(n);
    const std::vector<ValueId>& in = node.inputs;
    const auto found = [&](ValueId scores, Masking m) {
      if (!dims(scores).ranked() || !find_scores(scores, masks - 1)) return false;
      if (!reshapes_.empty() && dims(scores).rank() == 3) return false;
      m.scores = scores;
      masks_.push_back(m);
      nodes_.push_back(n);
      return true;
    };
    using enum Masking::Kind;
    if (is_sum(node)) return found(in[0], {addend, -1, in[1]}) || found(in[1], {addend, -1, in[0]});
    if (node.op.as<op::Where>())
      for (const bool shown : {true, false}) {
        const ValueId scores = in[shown ? 1 : 2], other = in[shown ? 2 : 1];
        const std::optional<double> hidden = number(p_, other, scores);
        if (hidden && found(scores, {choice, -1, in[0], shown, *hidden})) return true;
      }
    if (node.op.as<op::Max>() && in.size() == 2)
      for (const int k : {0, 1})
        if (const std::optional<double> least = number(p_, in[1 - k], in[k]))
          if (found(in[k], {at_least, -1, -1, true, *least})) return true;
    if (node.op.as<op::Reshape>() && find_scores(in[0], masks - 1) && dims(keys_).rank() == 3) {
      nodes_.push_back(n), reshapes_.push_back(n);
      return true;
    }
    return false;
  }
  /// Whether a masking applies to scores (batch, heads, queries, keys): a Reshape may make others of their
  /// elements before it.
  bool fits_scores(const Masking& mask, const Dims& scores) const {
    if (mask.value < 0) return true;
    const Dims &m = dims(mask.value), &masked = dims(mask.scores);
    if (!m.ranked() || m.rank() > masked.rank()) return false;
    if (masked.rank() == 3)
      return joins_rows(mask) ? has_rows(m[0], p_.maker(unscaled(mask.value)), scores)
                              : stretches(mask, scores);
    return masked[1].same(scores[1]) && (masked[0].same(scores[0]) || masked[2].same(scores[2]));
  }
  /// Whether a masking has the batch and the heads in one axis.
  bool joins_rows(const Masking& mask) const {
    return mask.value >= 0 && dims(mask.scores).rank() == 3 && dims(mask.value).rank() == 3 &&
           !dims(mask.value)[0].is(1);
  }
  /// Whether an extent that node n makes, perhaps the first one of a list that it reads, is the batch by the
  /// heads of `q`.
  bool has_rows(Dim extent, int n, const Dims& q) const {
    if (extent.same(q[0] * q[1]) || extent.same(dims(product_)[0])) return true;
    const bool reshapes = n >= 0 && p_.node(n).op.as<op::Reshape>() != nullptr;
    if (!reshapes && (n < 0 || p_.node(n).op.as<op::ConstantOfShape>() == nullptr)) return false;
    return is_product(first_element(p_.node(n).inputs[reshapes ? 1 : 0]), q[0], q[1]);
  }
  /// Whether a masking leaves the extents of scores as they are. If it has more keys, V does not fit.
  bool stretches(const Masking& mask, const Dims& scores) const {
    if (mask.value < 0) return true;
    const Dims& m = dims(mask.value);
    for (int k = 2; k <= (joins_rows(mask) ? 2 : m.rank()); ++k) {
      const Dim a = m[m.rank() - k], b = scores[4 - k];
      if (!a.is(1) && !a.same(b) && !(b.known() && b.value() > 1)) return false;
    }
    return true;
  }
  /// Whether a score changes nothing in the sum with a number that replaces it.
  bool is_least(double number) const {
    return number <= (type(product_) == DType::float16 ? -65504.0 : -1e30);
  }
  /// Whether the only masking is a choice, which attention makes by itself.
  bool chooses_alone() const {
    return masks_.size() == 1 && masks_[0].kind == Masking::Kind::choice && masks_[0].number < 0;
  }
  /// Whether the scores of a product of rank 3 are always (batch, heads, queries, keys) or have its axes. If
  /// all but one of the extents that a Reshape makes are these, the last one is as well, because numbers that
  /// a mask adds would fit neither it nor V.
  bool keeps_axes(const Dims& q) const {
    const Dims& product = dims(product_);
    const auto keeps = [&](int n) {
      const Dims& made = dims(p_.node(n).outputs[0]);
      if (!made.ranked() || (made.rank() != 3 && made.rank() != 4)) return false;
      if (made.rank() == 4)
        return made[0].same(q[0]) + made[1].same(q[1]) + made[2].same(q[2]) + made[3].same(product[2]) >= 3;
      return has_rows(made[0], n, q) + (made[1].same(product[1]) || made[1].same(q[2])) +
                 made[2].same(product[2]) >=
             2;
    };
    return std::ranges::all_of(reshapes_, keeps) && (joining_ < 0 || keeps(joining_));
  }
  /// What all maskings add to scores, or -1; of a choice alone, which keys are shown.
  ValueId mask(int n, ValueId q) {
    const auto constant = [&](double number) {
      AnyTensor t = op::zeros(type(product_), {});
      visit_types<float, float16, bfloat16>(
          t.dtype(), [&]<class T>() { *static_cast<T*>(t.out().data()) = convert<T>(number); });
      return p_.add_constant({}, std::move(t));
    };
    const auto node = [&]<class Op>(const Op& op, ValueId a, ValueId b) {
      return p_.add_node(n, AnyOperator::make<Op, fused_types.tensor>(op), {a, b})[0];
    };
    ValueId sum = -1;
    for (Masking& m : masks_)
      if (joins_rows(m)) m.value = apart(n, m.value, q);
    if (chooses_alone())
      return masks_[0].shown ? masks_[0].value
                             : p_.add_node(n, AnyOperator::make(op::Not{}), {masks_[0].value})[0];
    for (const Masking& m : masks_) {
      if (m.kind == Masking::Kind::at_least) {
        if (sum >= 0) sum = node(op::Max{}, sum, constant(m.number));
        continue;
      }
      if (m.kind == Masking::Kind::choice) {
        ValueId yes = sum < 0 ? constant(0) : sum, no = constant(m.number);
        if (!m.shown) std::swap(yes, no);
        sum = p_.add_node(n, AnyOperator::make(op::Where{}), {m.value, yes, no})[0];
        continue;
      }
      sum = sum < 0 ? m.value : node(op::Add{}, sum, m.value);
    }
    return sum;
  }

  /// v (batch * heads, m, n) as (batch, heads, m, n), the first extents those of q.
  ValueId apart(int n, ValueId v, ValueId q) {
    const ValueId first = p_.add_node(n, AnyOperator::make(op::Shape{.end = 2}), {q})[0],
                  rest = p_.add_node(n, AnyOperator::make(op::Shape{.start = 1}), {v})[0],
                  all = p_.add_node(n, AnyOperator::make(op::Concat{.axis = 0}), {first, rest})[0];
    return p_.add_node(n, AnyOperator::make(op::Reshape{}), {v, all})[0];
  }
  /// (batch, heads, steps, size) of which a Reshape makes v by joining the batch and the heads, or -1.
  ValueId separated(ValueId v) const {
    const Graph::Node* const reshape = made_by<op::Reshape>(p_, v);
    if (reshape == nullptr || !of_rank_4(reshape->inputs[0]) || dims(v).rank() != 3) return -1;
    const Dims &from = dims(reshape->inputs[0]), &to = dims(v);
    const bool joins = to[1].same(from[2]) || to[0].same(from[0] * from[1]) ||
                       is_product(first_element(reshape->inputs[1]), from[0], from[1]);
    return joins && to[2].same(from[3]) ? reshape->inputs[0] : -1;
  }
  /// The value that is the first element of a list, or -1.
  ValueId first_element(ValueId list) const {
    const Graph::Node* const concat = made_by<op::Concat>(p_, list);
    const Graph::Node* const one = concat ? made_by<op::Unsqueeze>(p_, concat->inputs[0]) : nullptr;
    return one ? one->inputs[0] : -1;
  }
  bool is_product(ValueId v, Dim a, Dim b) const {
    const Graph::Node* const mul = made_by<op::Mul>(p_, v);
    if (mul == nullptr) return false;
    const auto is = [&](int k, Dim d) {
      const ValueId x = mul->inputs[static_cast<std::size_t>(k)];
      const op::PropagatedData& known = p_.info(x).propagated;
      if (known.known() && known.size() == 1 && known[0].same(d)) return true;
      return d.known() && number(p_, x, x) == static_cast<double>(d.value());
    };
    return (is(0, a) && is(1, b)) || (is(0, b) && is(1, a));
  }

  /// Whether v is K^T of a cache that has the transposes of keys, to which a Concat adds columns.
  bool joins_columns(ValueId v) const {
    const Graph::Node* const concat = p_.caches().empty() ? nullptr : made_by<op::Concat>(p_, v);
    const auto* op = concat ? concat->op.as<op::Concat>() : nullptr;
    return op != nullptr && op->axis && of_rank_4(v) && resolve_axis(*op->axis, 4) == 3;
  }
  /// Keys of which a Reshape to three axes, a Transpose and a Reshape make v, their K^T; or -1.
  ValueId swapped_in_rows(ValueId v) const {
    const Graph::Node* const apart = made_by<op::Reshape>(p_, v);
    const Graph::Node* const swap = apart ? made_by<op::Transpose>(p_, apart->inputs[0]) : nullptr;
    const Graph::Node* const joined = swap ? made_by<op::Reshape>(p_, swap->inputs[0]) : nullptr;
    if (joined == nullptr || !is_transpose(*swap, {0, 2, 1})) return -1;
    const ValueId k = joined->inputs[0];
    if (!of_rank_4(k) || !of_rank_4(v)) return -1;
    const Dims &from = dims(k), &rows = dims(swap->inputs[0]), &to = dims(v);
    const bool swaps = rows[1].same(from[2]) && rows[2].same(from[3]) && to[0].same(from[0]) &&
                       to[1].same(from[1]) && to[2].same(from[3]);
    return swaps ? k : -1;
  }
  static bool swaps_last(const Graph::Node& n) { return is_transpose(n, {0, 1, 3, 2}); }
  /// The transpose of v, which a Concat of columns makes: a Concat of rows, of which v becomes the transpose.
  ValueId joined_rows(ValueId v) {
    const int n = p_.maker(v);
    const auto swapped = [&](ValueId x) {
      return p_.add_node(n, AnyOperator::make(op::Transpose{{0, 1, 3, 2}}), {x})[0];
    };
    std::vector<ValueId> parts = p_.node(n).inputs;
    for (ValueId& x : parts) {
      const Graph::Node* const maker = made_by<op::Transpose>(p_, x);
      x = maker && swaps_last(*maker) ? maker->inputs[0] : swapped(x);
    }
    const ValueId rows = p_.add_node(n, AnyOperator::make(op::Concat{.axis = 2}), std::move(parts))[0];
    for (const int m : std::vector<int>(p_.readers(v).begin(), p_.readers(v).end()))
      if (swaps_last(p_.node(m))) p_.redirect(p_.node(m).outputs[0], rows);
    p_.redirect(v, swapped(rows));
    return rows;
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

  /// Shape of what a Reshape makes is the list that it reads, where that has no 0 or -1: nothing has to be
  /// repeated for its extents.
  void serve_shapes(ValueId v) {
    const Graph::Node* const reshape = made_by<op::Reshape>(p_, v);
    const ValueId list = reshape ? reshape->inputs[1] : -1;
    if (list < 0) return;
    const op::PropagatedData& known = p_.info(list).propagated;
    if (!known.known() || known.size() != dims(v).rank()) return;
    for (int d = 0; d < known.size(); ++d)
      if (!known[d].same(dims(v)[d])) return;
    for (const int m : std::vector<int>(p_.readers(v).begin(), p_.readers(v).end()))
      if (const auto* shape = p_.node(m).op.as<op::Shape>(); shape && shape->start == 0 && !shape->end)
        p_.redirect(p_.node(m).outputs[0], list);
  }

  void put(int n, int last) {
    if (!is_fused_type(p_, q_) || !fits(p_, last))
      return p_.skipped(n, "it is of no float32, float16 or bfloat16, or V does not fit");
    ValueId q = q_, k = keys_, v = narrow(p_.node(last).inputs[1]);
    const int rank = dims(k).rank();
    // K is the transpose's operand if it swaps only the last axes, else K has permuted axes.
    Ints perm;
    bool in_order = true;
    if (const Graph::Node* const transpose = made_by<op::Transpose>(p_, k)) {
      const auto* const swap = transpose->op.as<op::Transpose>();
      for (int d = 0; d < rank; ++d) {
        const int at = swap->source(d < rank - 2 ? d : 2 * rank - 3 - d, rank);
        perm.push_back(at);
        in_order &= at == d;
      }
      k = transpose->inputs[0];
      if (in_order) k = narrow(unscaled(k, scale_));
    } else if (const ValueId rows = swapped_in_rows(k); rows >= 0) {
      k = narrow(unscaled(rows, scale_));
    }
    ValueId with_heads = keys_;
    const bool joined = rank == 3 && !of_rank_4(p_.node(last).inputs[0]);
    if (rank == 3) {
      q = separated(q), with_heads = k = in_order ? separated(k) : -1;
      if (joined) v = separated(v);
      if (q < 0 || k < 0 || v < 0 || (joined && !dims(v)[3].same(dims(q)[3])))
        return p_.skipped(n, "it is of rank 3, and not known to join the batch and the heads of Q, K and V");
    }
    for (const ValueId x : {q, with_heads, v})
      for (int d = 0; d < 2; ++d)
        if (!of_rank_4(x) || !dims(x)[d].same(dims(q)[d]))
          return p_.skipped(n, "the batches and heads of Q, K and V are not known to be the same");
    if (!keeps_axes(dims(q))) return p_.skipped(n, "its result is not known to have the axes of the scores");
    const Dims scores{dims(q)[0], dims(q)[1], dims(q)[2], Dim()};
    bool widens = false;
    for (const Masking& m : masks_) {
      if (!fits_scores(m, scores))
        return p_.skipped(n, "the mask is not known to have the axes of the scores");
      widens |= !stretches(m, scores);
      if (m.kind != Masking::Kind::addend && !is_least(m.number) && !chooses_alone())
        return p_.skipped(n, "the score of hidden keys is not low enough for a sum with others");
    }
    if (!std::isfinite(scale_) || !std::isfinite(softcap_)) return p_.skipped(n, "the scale is not finite");
    if (in_order) drop_repetition(k, v);
    p_.applied(n, "fused with ", p_.label(last), " and the product before it into Attention");
    const ValueId addend = mask(n, q);
    if (!in_order) k = p_.add_node(p_.maker(keys_), AnyOperator::make(op::Transpose{perm}), {k})[0];
    else if (k == keys_) k = joined_rows(k);
    std::vector<ValueId> operands{q, k, v};
    FusedAttention attention{.scale = static_cast<float>(scale_),
                             .softcap = static_cast<float>(softcap_),
                             .none_is_nan = nan_is_zero_ ? 0 : 1,
                             .nan_is_zero = nan_is_zero_ ? 1 : 0};
    if (chooses_alone()) attention.hidden = static_cast<float>(masks_[0].number);
    attention.mask_widens = widens ? 1 : 0;
    const int back = !widens && steps_before_heads(operands) ? transpose_back(p_.node(last).outputs[0]) : -1;
    const Dim heads = dims(q)[1], size = dims(v)[3];
    for (ValueId& x : operands) {
      if (back < 0) break;
      x = p_.node(p_.maker(x)).inputs[0];
      const ValueId packed = extents({0, 0, (dims(x)[2] * dims(x)[3]).value()});
      x = p_.add_node(n, AnyOperator::make(op::Reshape{}), {x, packed})[0];
    }
    if (back >= 0) attention.heads = heads.value();
    if (addend >= 0) operands.push_back(addend);
    AnyOperator op = AnyOperator::make<FusedAttention, fused_types.tensor>(attention);
    const DType made = type(p_.node(last).outputs[0]);
    const op::Cast narrowing{.to = static_cast<int64_t>(made)};
    const bool narrows = made != type(q);
    if (back < 0 && !joined && !narrows) return p_.replace(last, std::move(op), std::move(operands), n);
    ValueId y = p_.add_node(n, std::move(op), std::move(operands))[0];
    if (back < 0 && !joined) return p_.replace(last, AnyOperator::make(narrowing), {y});
    if (narrows) y = p_.add_node(n, AnyOperator::make(narrowing), {y})[0];
    const auto reshape = [&](int m, ValueId to) { p_.replace(m, AnyOperator::make(op::Reshape{}), {y, to}); };
    if (back >= 0) return reshape(back, extents({0, 0, heads.value(), size.value()}));
    const ValueId rows = p_.node(p_.maker(product_)).inputs[0];
    reshape(last, p_.add_node(n, AnyOperator::make(op::Shape{}), {rows})[0]);
  }

  /// Whether a node swaps the axes of heads and steps.
  bool swaps_heads(int n) const { return n >= 0 && is_transpose(p_.node(n), {0, 2, 1, 3}); }
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
  std::vector<Masking> masks_;                 // the first first
  ValueId q_ = -1, keys_ = -1, product_ = -1;  // keys_ is K^T
  double scale_ = 1, softcap_ = 0;
  bool nan_is_zero_ = false;
  std::vector<int> reshapes_;  // of the scores
  int joining_ = -1;           // the Reshape of the weights, or -1
};

}  // namespace detail

inline void apply_fuse_attention(Program& program) { detail::Attentions(program).apply(); }

inline constexpr Pass fuse_attention{"fuse_attention", apply_fuse_attention};

}  // namespace tenon::TENON_ABI::passes

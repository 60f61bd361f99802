// keep_caches: a past input and its present output become a cache of the run's State, to which the run adds
// its steps where the graph copied the past. Attention reads the cache's pages. Where the present is the past
// with some rows written, the run writes them in place. The present of a graph without the past is the first
// part of a cache. A past of five axes, (2, batch, heads, steps, size), becomes two caches, of keys and of
// values. A past of floats that is read and made in 16 bits becomes a cache of 16 bits. Where a program reads
// no past, as in the first branch of a merged decoder, the present is all that the cache then has.
#pragma once

#include "tenon/graph/fused/cached_attention.hpp"
#include "tenon/graph/fused/fused_attention.hpp"
#include "tenon/graph/fused/scatter_rows.hpp"
#include "tenon/graph/passes/match.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/scatter_nd.hpp"
#include "tenon/op/tensor/shape.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

class KeptCaches {
 public:
  explicit KeptCaches(Program& program) : p_(program), rows_(2 * program.caches().size()) {}

  void apply() {
    for (std::size_t k = 0; k < pairs(); ++k) find_operands(k);
    for (std::size_t c = 0; c < rows_.size(); ++c) {
      find_concat(c);
      for (std::size_t v = 0; v < rows_.size(); ++v) find_attention(c, v);
    }
    for (std::size_t k = 0; k < pairs(); ++k) drop_single_half(k);
    for (std::size_t k = 0; k < pairs(); ++k) find_fresh(k);
    for (std::size_t c = 0; c < rows_.size(); ++c)
      if (rows_[c].node >= 0 && rows_[c].attention < 0) append(c);
    for (std::size_t c = 0; c < rows_.size(); ++c)
      if (rows_[c].attention >= 0) replace_attention(c);
    for (std::size_t k = 0; k < pairs(); ++k) {
      if (rows_[2 * k].node >= 0) continue;
      find_scatter(k);
      find_update(k);
    }
    for (std::size_t c = 0; c < rows_.size(); ++c)
      if (rows_[c].node >= 0 && rows_[c].fresh != rows_[c].present) serve_readers(c);
    count_steps();
  }

 private:
  // A cache that the graph makes. Pair k has number 2k, and 2k + 1 for its values if it stacks keys and
  // values.
  struct Rows {
    ValueId past = -1, present = -1;  // as `node` reads and makes them, as halves of the pair or in float
    bool widened = false;             // in float, of a pair of 16 bits, of which the cache is
    ValueId source = -1;              // the pair's past or half of it; -1: `past` itself
    int stacking = -1;                // what reads `present` to make the pair's, which nothing else reads
    int node = -1;                    // the Concat or Attention that makes the present
    ValueId fresh = -1;               // what it appends
    int64_t heads = 0;                // of `fresh`, if it has rank 3
    int attention = -1;               // of the keys of an Attention: the cache of its values
    ValueId steps = -1;               // what CacheAppend returns
  };

  std::size_t pairs() const { return rows_.size() / 2; }
  CachePair& pair(std::size_t k) const { return p_.caches()[k]; }
  ValueId present(std::size_t k) const { return p_.outputs()[pair(k).output]; }
  /// Whether the present is another one in each run, of which nothing is decided yet.
  bool is_open(std::size_t k) const {
    return rows_[2 * k].node < 0 && !pair(k).constant && pair(k).output != CachePair::no_output;
  }
  bool may_keep(std::size_t k) const {
    return is_open(k) && (pair(k).past < 0 || may_grow(pair(k).past)) && !p_.is_captured(present(k));
  }
  bool may_grow(ValueId past) const {
    const Dims& d = p_.info(past).dims;
    const bool has_rows = d.ranked() && d.rank() >= 4 && d[d.rank() - 2].known();
    const bool has_columns = has_rows && d.rank() == 4 && !d[3].known() && swaps_last(only_use(past));
    return (!has_rows || has_columns) && !p_.is_captured(past);
  }

  /// What nodes read of the pair's past, and make for its present.
  void find_operands(std::size_t k) {
    if (!may_keep(k)) return;
    Rows& r = rows_[2 * k];
    pair(k).fresh = pair(k).past >= 0 && p_.readers(pair(k).past).empty() && !p_.is_output(pair(k).past);
    if (pair(k).past < 0 || pair(k).fresh) {
      r.present = present(k);
      if (const int n = p_.maker(r.present); is_unread(k) && n >= 0 && is_widening(p_.node(n)))
        r.present = p_.node(n).inputs[0];
      return;
    }
    const Dims& d = p_.info(pair(k).past).dims;
    const int n = p_.maker(present(k));
    if (d.ranked() && d.rank() == 5 && n >= 0) {
      if (find_halves(k, n)) return;
      p_.skipped(n, "'", name(k),
                 "' is copied in every run: it is no stack of keys and values that Gathers alone read");
    }
    r.past = pair(k).past, r.present = present(k);
    look_through_transposes(k, r);
    look_through_casts(k, r);
    if (r.stacking < 0) look_through_copy(k, r);
  }
  /// A present that is made by a Cast without effect.
  void look_through_copy(std::size_t k, Rows& r) const {
    const int n = p_.maker(r.present);
    const auto* cast = n < 0 ? nullptr : p_.node(n).op.as<op::Cast>();
    if (cast == nullptr || !is_unread(k) || p_.info(p_.node(n).inputs[0]).type != p_.info(r.present).type)
      return;
    r.stacking = n, r.present = p_.node(n).inputs[0];
  }
  /// The past is read by Gathers of either half, and node n stacks the halves of the present.
  bool find_halves(std::size_t k, int n) {
    const ValueId past = pair(k).past;
    const auto* stack = p_.node(n).op.as<op::Concat>();
    if (stack == nullptr || p_.node(n).inputs.size() != 2 || !stack->axis ||
        resolve_axis(*stack->axis, 5) != 0 || !p_.info(past).dims[0].is(2) || p_.is_output(past))
      return false;
    Rows halves[2];
    for (const int m : std::vector<int>(p_.readers(past).begin(), p_.readers(past).end())) {
      const auto* gather = p_.node(m).op.as<op::Gather>();
      if (gather == nullptr || resolve_axis(gather->axis, 5) != 0) return false;
      const ValueId index = p_.node(m).inputs[1];
      const std::optional<double> half = number(p_, index, past);
      if (!half || p_.info(index).dims.rank() != 0 || *half < -2 || *half > 1) return false;
      Rows& r = halves[*half == 1 || *half == -1 ? 1 : 0];
      if (r.past >= 0 || p_.is_captured(p_.node(m).outputs[0])) return false;
      r.past = p_.node(m).outputs[0];
    }
    for (const int h : {0, 1}) {
      Rows& r = halves[h];
      const int m = p_.maker(p_.node(n).inputs[h]);
      if (r.past < 0 || m < 0 || p_.node(m).op.as<op::Unsqueeze>() == nullptr) return false;
      const std::optional<double> axis = number(p_, p_.node(m).inputs[1], past);
      if (!axis || resolve_axis(static_cast<int64_t>(*axis), 5) != 0) return false;
      r.present = p_.node(m).inputs[0];
      if (is_unread(k) && p_.only_reader(p_.node(m).outputs[0]) == n) r.stacking = m;
      look_through_casts(k, r);
    }
    pair(k).stacked = true, pair(k).axis = 3;
    rows_[2 * k] = halves[0], rows_[2 * k + 1] = halves[1];
    return true;
  }
  /// Whether a pair's present is for the state alone.
  bool is_unread(std::size_t k) const {
    return p_.readers(present(k)).empty() && std::ranges::count(p_.outputs(), present(k)) == 1;
  }
  /// The only reader of v but for those that read its extents, or -1.
  int only_use(ValueId v) const {
    int found = -1;
    for (const int n : p_.readers(v)) {
      if (p_.node(n).op.as<op::Shape>() != nullptr) continue;
      if (found >= 0) return -1;
      found = n;
    }
    return p_.is_output(v) || p_.is_captured(v) ? -1 : found;
  }
  bool swaps_last(int n) const { return n >= 0 && is_transpose(p_.node(n), {0, 1, 3, 2}); }
  /// A past whose transpose is read, and whose present is the transpose of what is made.
  void look_through_transposes(std::size_t k, Rows& r) const {
    const int before = only_use(r.past), after = p_.maker(r.present);
    if (!swaps_last(before) || !swaps_last(after) || !is_unread(k) ||
        p_.is_captured(p_.node(before).outputs[0]))
      return;
    r.source = r.past, r.stacking = after;
    r.past = p_.node(before).outputs[0], r.present = p_.node(after).inputs[0];
    pair(k).columns = true;
  }
  DType type(ValueId v) const { return p_.info(v).type.element; }
  static bool is_half(DType t) { return t == DType::float16 || t == DType::bfloat16; }
  /// Whether a node casts 16 bits to float.
  bool is_widening(const Graph::Node& n) const {
    return n.op.as<op::Cast>() != nullptr && is_half(type(n.inputs[0])) &&
           type(n.outputs[0]) == DType::float32;
  }
  /// A past of 16 bits that is read in float, and whose present is made in float, is kept in 16 bits, and so
  /// is a past of floats that is read and made in 16 bits.
  void look_through_casts(std::size_t k, Rows& r) const {
    const int before = only_use(r.past), after = p_.maker(r.present);
    const auto casts = [&](int n) { return n >= 0 && p_.node(n).op.as<op::Cast>() != nullptr; };
    if (!casts(before) || !casts(after)) return;
    const ValueId read = p_.node(before).outputs[0], made = p_.node(after).inputs[0];
    const bool widens = is_widening(p_.node(before)) && type(made) == DType::float32,
               narrows = type(r.past) == DType::float32 && is_half(type(read)) && type(made) == type(read);
    if ((!widens && !narrows) || p_.is_captured(read)) return;
    const bool is_private =
        r.present == present(k) ? is_unread(k) : r.stacking >= 0 && p_.only_reader(r.present) == r.stacking;
    r.stacking = is_private ? after : -1;
    if (r.source < 0) r.source = r.past;
    r.past = read, r.present = made, r.widened = widens;
  }
  /// Of a pair that stacks keys and values, both become caches or neither does.
  void drop_single_half(std::size_t k) {
    Rows &keys = rows_[2 * k], &values = rows_[2 * k + 1];
    if (!pair(k).stacked || (keys.node >= 0 && values.node >= 0)) return;
    p_.skipped(p_.maker(present(k)), "'", name(k),
               "' is copied in every run: no Concat or Attention adds steps to its halves");
    pair(k).stacked = false;
    keys.node = values.node = keys.attention = values.attention = -1;
  }

  /// Present = Concat(past, fresh) along the steps.
  void find_concat(std::size_t c) {
    const Rows& r = rows_[c];
    const int n = r.past >= 0 ? p_.maker(r.present) : -1;
    if (n < 0 || r.node >= 0) return;
    const auto* concat = p_.node(n).op.as<op::Concat>();
    const std::vector<ValueId>& in = p_.node(n).inputs;
    if (concat == nullptr || in.size() != 2 || in[0] != r.past || in[1] == in[0]) return;
    const Dims& fresh = p_.info(in[1]).dims;
    const bool is_half = pair(c / 2).stacked;
    if (!is_half && fresh.ranked() && concat->axis)
      pair(c / 2).axis = axis_of_past(c / 2, resolve_axis(*concat->axis, fresh.rank()));
    if (!fresh.ranked() || fresh.rank() != 4 || !concat->axis || resolve_axis(*concat->axis, 4) != 2 ||
        !is_fused_type(p_, in[1]))
      return p_.skipped(n, "it does not append steps of (batch, heads, steps, size)");
    if (!fits_cache(c, in[1])) return p_.skipped(n, wide_steps);
    if (follows_past(c, in[1])) return p_.skipped(n, read_first);
    keep(c, n, in[1], 0, -1);
  }
  /// The axis of pair k's past that is `axis` of what the graph adds steps to.
  int axis_of_past(std::size_t k, int axis) const { return pair(k).columns && axis > 1 ? 5 - axis : axis; }
  /// Presents k and v are an Attention's present_key and present_value.
  void find_attention(std::size_t k, std::size_t v) {
    if (k == v || rows_[k].present < 0 || rows_[v].present < 0 || rows_[k].node >= 0 || rows_[v].node >= 0)
      return;
    if ((pair(k / 2).stacked || pair(v / 2).stacked) && k / 2 != v / 2) return;
    const int n = p_.maker(rows_[k].present);
    if (n < 0 || p_.maker(rows_[v].present) != n) return;
    const Graph::Node& node = p_.node(n);
    const auto operand = [&](std::size_t i) { return i < node.inputs.size() ? node.inputs[i] : -1; };
    const auto* attention = node.op.as<op::Attention>();
    if (attention == nullptr || node.outputs.size() < 3 || node.outputs[1] != rows_[k].present ||
        node.outputs[2] != rows_[v].present || operand(4) != rows_[k].past || operand(5) != rows_[v].past ||
        operand(6) >= 0)  // the number of keys that count, which there is without a past alone
      return;
    for (const std::size_t c : {k, v})
      if (!pair(c / 2).stacked) pair(c / 2).axis = axis_of_past(c / 2, 2);
    if (node.outputs.size() > 3 && (!p_.readers(node.outputs[3]).empty() || p_.is_output(node.outputs[3])))
      return p_.skipped(n, "its scores are read");
    const Dims &q = p_.info(node.inputs[0]).dims, &value = p_.info(node.inputs[2]).dims;
    const bool packed = q.ranked() && q.rank() == 3;
    if (!q.ranked() || !value.ranked() || !value[value.rank() - 1].known() ||
        !is_fused_type(p_, node.inputs[1]) || !is_fused_type(p_, node.inputs[2]))
      return p_.skipped(n,
                        "it is of no float32, float16 or bfloat16, or the size of its values is not known");
    if (!fits_cache(k, node.inputs[1]) || !fits_cache(v, node.inputs[2])) return p_.skipped(n, wide_steps);
    if (follows_past(k, node.inputs[1]) || follows_past(v, node.inputs[2])) return p_.skipped(n, read_first);
    const int64_t heads = packed ? *attention->kv_num_heads : 0;
    keep(k, n, node.inputs[1], heads, static_cast<int>(v));
    keep(v, n, node.inputs[2], heads, -1);
  }
  /// Whether steps that a cache of 16 bits holds are the ones that the graph reads in float.
  bool fits_cache(std::size_t c, ValueId fresh) const {
    const Graph::Node* const cast = rows_[c].widened ? made_by<op::Cast>(p_, fresh) : nullptr;
    return !rows_[c].widened ||
           (cast != nullptr && p_.info(cast->inputs[0]).type == p_.info(pair(c / 2).past).type);
  }
  /// Whether what a cache would append is computed from its past: readers of a cache's past get a copy that
  /// is made with the type and extents of what it appends.
  bool follows_past(std::size_t c, ValueId fresh) const {
    std::vector<bool> seen(p_.nodes().size());
    std::vector<int> open{p_.maker(fresh)};
    while (!open.empty()) {
      const int n = open.back();
      open.pop_back();
      if (n < 0 || seen[static_cast<std::size_t>(n)]) continue;
      seen[static_cast<std::size_t>(n)] = true;
      for (const auto* list : {&p_.node(n).inputs, &p_.node(n).captures})
        for (const ValueId v : *list) {
          if (v < 0) continue;
          if (v == rows_[c].past || v == rows_[c].source) return true;
          open.push_back(p_.maker(v));
        }
    }
    return false;
  }
  void keep(std::size_t c, int n, ValueId fresh, int64_t heads, int attention) {
    Rows& r = rows_[c];
    r.node = n, r.fresh = fresh, r.heads = heads, r.attention = attention;
  }

  /// The present of a graph that does not read the past: all of its steps are fresh, and the graph reads them
  /// itself.
  void find_fresh(std::size_t k) {
    if (!may_keep(k) || (pair(k).past >= 0 && !pair(k).fresh) || pair(k).axis != 2) return;
    const ValueId steps = rows_[2 * k].present;
    const int n = p_.maker(steps);
    const Dims& d = p_.info(steps).dims;
    if (n < 0 || !d.ranked() || d.rank() != 4 || !is_fused_type(p_, steps)) return;
    p_.applied(n, "its result is the first part of a cache");
    keep(2 * k, n, steps, 0, -1);
  }

  /// A present that a ScatterND makes of the past with its steps in front, and a Transpose turns back, is the
  /// past with rows written.
  void find_scatter(std::size_t k) {
    const ValueId past = pair(k).past;
    const int last = is_open(k) && past >= 0 ? p_.maker(present(k)) : -1;
    const auto* back = last < 0 ? nullptr : p_.node(last).op.as<op::Transpose>();
    const int n = back ? p_.maker(p_.node(last).inputs[0]) : -1;
    const auto* scatter = n < 0 ? nullptr : p_.node(n).op.as<op::ScatterND>();
    const Graph::Node* const front = scatter ? made_by<op::Transpose>(p_, p_.node(n).inputs[0]) : nullptr;
    if (front == nullptr || front->inputs[0] != past || scatter->reduction != "none" ||
        p_.only_reader(p_.node(n).outputs[0]) != last || !is_fused_type(p_, past))
      return;
    const ValueId places = p_.node(n).inputs[1], rows = p_.node(n).inputs[2];
    const Dims &d = p_.info(past).dims, &index = p_.info(places).dims;
    if (!d.ranked() || !index.ranked() || index.rank() != 2 || !index[1].is(1)) return;
    const int axis = front->op.as<op::Transpose>()->source(0, d.rank());
    Ints perm;
    for (int a = 0; a < d.rank(); ++a) {
      const int in_front = a == axis ? 0 : a < axis ? a + 1 : a;
      if (front->op.as<op::Transpose>()->source(in_front, d.rank()) != a ||
          back->source(a, d.rank()) != in_front)
        return;
      perm.push_back(in_front);
    }
    const ValueId list = p_.add_constant({}, AnyTensor(Tensor<int64_t>(Extents{1}, {-1}))),
                  at = p_.add_node(last, AnyOperator::make(op::Reshape{}), {places, list})[0],
                  turned = p_.add_node(last, AnyOperator::make(op::Transpose{perm}), {rows})[0];
    p_.replace(last, AnyOperator::make(ScatterRows{axis}), {past, turned, at});
  }
  /// The present is the past with rows written, and nothing else reads the past's elements.
  void find_update(std::size_t k) {
    const int n = is_open(k) && pair(k).past >= 0 ? p_.maker(present(k)) : -1;
    if (n < 0 || only_use(pair(k).past) != n) return;
    const Graph::Node& node = p_.node(n);
    pair(k).updated = std::ranges::any_of(node.op.spec().updates, [&](const op::Update& u) {
      const auto in = static_cast<std::size_t>(u.input), out = static_cast<std::size_t>(u.output);
      return in < node.inputs.size() && node.inputs[in] == pair(k).past && out < node.outputs.size() &&
             node.outputs[out] == present(k);
    });
    if (!pair(k).updated) return;
    pair(k).dropped = node.op.drops_rows();
    pair(k).least_rows = node.op.least_rows();
    if (pair(k).dropped) p_.skipped(n, "'", name(k), "' is copied in every run, because it loses rows");
    else p_.applied(n, "writes rows of '", name(k), "' in place");
  }

  void append(std::size_t c) {
    Rows& r = rows_[c];
    if (r.widened) r.fresh = made_by<op::Cast>(p_, r.fresh)->inputs[0];
    std::vector<ValueId> in{r.fresh};
    // The keys' number of steps, or the values', whichever comes last, stands for both.
    if (const Rows& other = rows_[c ^ 1]; pair(c / 2).stacked && other.steps >= 0) in.push_back(other.steps);
    r.steps = p_.add_node(r.node,
                          AnyOperator::make<CacheAppend, fused_types.tensor>(
                              {.cache = static_cast<int64_t>(c), .heads = r.heads}),
                          std::move(in))[0];
    last_steps_[c / 2] = r.steps;
  }
  ValueId converted(int of, ValueId x, DType type) {
    return p_.add_node(
        of, AnyOperator::make<op::Cast, fused_types.tensor>({.to = static_cast<int64_t>(type)}), {x})[0];
  }

  void replace_attention(std::size_t k) {
    const auto v = static_cast<std::size_t>(rows_[k].attention);
    append(k);
    const int n = rows_[k].node;
    const auto attention = *p_.node(n).op.as<op::Attention>();
    const Dims &q = p_.info(p_.node(n).inputs[0]).dims, &value = p_.info(p_.node(n).inputs[2]).dims;
    const bool packed = q.rank() == 3;
    CachedAttention cached{.keys = static_cast<int64_t>(k), .values = static_cast<int64_t>(v)};
    cached.heads = packed ? *attention.q_num_heads : 0;
    cached.value_size = value[value.rank() - 1].value() / (packed ? *attention.kv_num_heads : 1);
    cached.scale = attention.scale;
    cached.softcap = attention.softcap;
    cached.left = attention.left_window_size;
    cached.right = attention.is_causal != 0 ? 0 : attention.right_window_size;
    cached.softmax_type = attention.softmax_precision ? *attention.softmax_precision : 0;
    cached.one_key_for_all = attention.mask_stretches ? 1 : 0;
    put(n, cached, p_.node(n).inputs[0], p_.node(n).inputs.size() > 3 ? p_.node(n).inputs[3] : -1,
        p_.node(n).outputs[0]);
  }

  /// Makes `cached` the maker of what reads `y`.
  void put(int n, const CachedAttention& cached, ValueId q, ValueId mask, ValueId y) {
    const auto k = static_cast<std::size_t>(cached.keys), v = static_cast<std::size_t>(cached.values);
    if (k / 2 == v / 2) p_.applied(n, "reads the caches of '", name(k / 2), "'");
    else p_.applied(n, "reads the caches of '", name(k / 2), "' and '", name(v / 2), "'");
    std::vector<ValueId> in{q, rows_[k].steps, rows_[v].steps};
    if (mask >= 0) in.push_back(mask);
    const ValueId to =
        p_.add_node(n, AnyOperator::make<CachedAttention, fused_types.tensor>(cached), std::move(in))[0];
    p_.redirect(y, to);
    for (const std::size_t c : {k, v}) widen_window(c, cached.left);
  }
  /// What the graph calls the cache: the past, or the present of a graph without it.
  const std::string& name(std::size_t k) const {
    return p_.entry(pair(k).past >= 0 ? pair(k).past : present(k)).name;
  }
  /// The cache has a reader of the last steps, of this number before each query; -1: of all.
  void widen_window(std::size_t c, int64_t left) {
    Window& w = windows_[c / 2];
    w.unbounded |= left < 0;
    w.steps = std::max(w.steps, left);
  }

  /// What else reads the past and the present: attention, extents, and those that need a dense copy.
  void serve_readers(std::size_t c) {
    fuse_attention_of(c);
    const Rows& r = rows_[c];
    ValueId before = -1;
    const auto steps_of = [&](bool of_past) {
      if (!of_past) return r.steps;
      if (before < 0)
        before = p_.add_node(r.node, AnyOperator::make(CacheSteps{static_cast<int64_t>(c)}), {})[0];
      return before;
    };
    const auto serve_shapes = [&](ValueId x, bool of_past, bool columns) {
      for (const int m : std::vector<int>(p_.readers(x).begin(), p_.readers(x).end())) {
        const auto* shape = p_.node(m).op ? p_.node(m).op.as<op::Shape>() : nullptr;
        if (shape == nullptr) continue;
        const auto axis = [](int64_t a) { return std::clamp<int64_t>(a < 0 ? a + 4 : a, 0, 4); };
        p_.replace(m,
                   AnyOperator::make<CacheShape, fused_types.tensor>(
                       {r.heads, columns ? 1 : 0, axis(shape->start), axis(shape->end.value_or(4))}),
                   {r.fresh, steps_of(of_past)});
      }
    };
    if (r.source >= 0) serve_shapes(r.source, true, pair(c / 2).columns);
    for (const bool of_past : {true, false}) {
      const ValueId x = of_past ? r.past : r.present;
      if (x < 0) continue;
      serve_shapes(x, of_past, false);
      const bool is_present = !of_past && x == present(c / 2);
      bool read = std::ranges::count(p_.outputs(), x) > (is_present ? 1 : 0);
      for (const int m : p_.readers(x)) read |= m != r.node && m != r.stacking;
      if (!read) continue;
      const std::string& named = p_.entry(x).name;
      p_.skipped(r.node, "'", named.empty() ? name(c / 2) : named,
                 "' has other readers, which get a copy in every run");
      widen_window(c, -1);
      ValueId rows = p_.add_node(
          r.node, AnyOperator::make<CacheRows, fused_types.tensor>({static_cast<int64_t>(c), r.heads}),
          {r.fresh, steps_of(of_past)})[0];
      if (r.widened) rows = converted(r.node, rows, DType::float32);
      p_.redirect(x, rows);
    }
  }
  /// FusedAttention, or Attention without a past, whose keys are present k.
  void fuse_attention_of(std::size_t k) {
    const ValueId keys = rows_[k].present;
    for (const int m : std::vector<int>(p_.readers(keys).begin(), p_.readers(keys).end())) {
      const Graph::Node& node = p_.node(m);
      std::optional<CachedAttention> cached = of_rows(node);
      if (!cached || node.inputs[1] != keys || node.inputs[0] == keys) continue;
      for (std::size_t v = 0; v < rows_.size(); ++v) {
        if (v == k || rows_[v].node < 0 || node.inputs[2] != rows_[v].present) continue;
        const Dim size = p_.info(rows_[v].fresh).dims[3];
        if (!size.known()) continue;
        cached->keys = static_cast<int64_t>(k), cached->values = static_cast<int64_t>(v);
        cached->value_size = size.value();
        put(m, *cached, node.inputs[0], node.inputs.size() > 3 ? node.inputs[3] : -1, node.outputs[0]);
        break;
      }
    }
  }
  /// What a node computes of keys and values of rank 4, if it does that wherever a cache has them.
  std::optional<CachedAttention> of_rows(const Graph::Node& node) const {
    // Without a past, a query's position counts from the first key, and not from the last one.
    if (const auto* fused = node.op ? node.op.as<FusedAttention>() : nullptr;
        fused && fused->heads == 0 && fused->left < 0 && fused->right < 0 && node.inputs.size() < 5)
      return CachedAttention{.scale = fused->scale,
                             .softcap = fused->softcap,
                             .one_key_for_all = fused->one_key_for_all,
                             .mask_widens = fused->mask_widens,
                             .none_is_nan = fused->none_is_nan,
                             .hidden = fused->hidden,
                             .nan_is_zero = fused->nan_is_zero};
    const auto* attention = node.op ? node.op.as<op::Attention>() : nullptr;
    const auto is_unread = [&](std::size_t result) {
      return result >= node.outputs.size() ||
             (p_.readers(node.outputs[result]).empty() && !p_.is_output(node.outputs[result]));
    };
    const auto given = [&](std::size_t operand) {
      return operand < node.inputs.size() && node.inputs[operand] >= 0;
    };
    if (attention == nullptr || attention->is_causal != 0 || attention->left_window_size >= 0 ||
        attention->right_window_size >= 0 || !is_unread(1) || !is_unread(2) || !is_unread(3) || given(4) ||
        given(6))
      return {};
    return CachedAttention{.scale = attention->scale,
                           .softcap = attention->softcap,
                           .softmax_type = attention->softmax_precision.value_or(0),
                           .one_key_for_all = attention->mask_stretches ? 1 : 0};
  }

  /// The program returns the number of a cache's steps in place of the present: a run adds its steps even if
  /// nothing that is asked for reads them.
  void count_steps() {
    for (std::size_t k = 0; k < pairs(); ++k) {
      if (rows_[2 * k].node < 0) continue;
      const Window& w = windows_[k];
      pair(k).kept = true, pair(k).type = type(rows_[2 * k].fresh);
      pair(k).window = w.unbounded ? -1 : w.steps;  // without a reader, -1 as well
      p_.set_output(pair(k).output, last_steps_[k]);
    }
  }

  static constexpr std::string_view read_first =
      "its past is copied in every run, because the steps that follow it are computed from it";
  static constexpr std::string_view wide_steps =
      "its past is of 16 bits and copied in every run, because its steps are of 32 bits";

  struct Window {
    int64_t steps = -1;
    bool unbounded = false;
  };

  Program& p_;
  std::vector<Rows> rows_;
  std::vector<Window> windows_ = std::vector<Window>(pairs());
  std::vector<ValueId> last_steps_ = std::vector<ValueId>(pairs(), -1);  // of a pair's caches
};

}  // namespace detail

inline void apply_keep_caches(Program& program) { detail::KeptCaches(program).apply(); }

/// Reads Program::caches. It comes last, after fuse_attention.
inline constexpr Pass keep_caches{"keep_caches", apply_keep_caches};

}  // namespace tenon::TENON_ABI::passes

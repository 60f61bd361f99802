// keep_caches: a past input and its present output become a cache of the run's State, to which the run adds
// its steps where the graph copied the past. Attention reads the cache's pages. Where the present is the past
// with some rows written, the run writes them in place. The present of a graph without the past is the first
// part of a cache.
#pragma once

#include "tenon/graph/fused/cached_attention.hpp"
#include "tenon/graph/fused/fused_attention.hpp"
#include "tenon/graph/passes/match.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/shape.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

class KeptCaches {
 public:
  explicit KeptCaches(Program& program) : p_(program), rows_(program.caches().size()) {}

  void apply() {
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      find_concat(k);
      for (std::size_t v = 0; v < rows_.size(); ++v) find_attention(k, v);
    }
    for (std::size_t k = 0; k < rows_.size(); ++k) find_fresh(k);
    for (std::size_t k = 0; k < rows_.size(); ++k)
      if (rows_[k].node >= 0 && rows_[k].attention < 0) append(k);
    for (std::size_t k = 0; k < rows_.size(); ++k)
      if (rows_[k].attention >= 0) replace_attention(k);
    for (std::size_t k = 0; k < rows_.size(); ++k)
      if (rows_[k].node < 0) find_update(k);
      else if (rows_[k].fresh != present(k)) serve_readers(k);
    count_steps();
  }

 private:
  // A cache that the graph makes.
  struct Rows {
    int node = -1;       // the Concat or Attention that makes the present
    ValueId fresh = -1;  // what it appends
    int64_t heads = 0;   // of `fresh`, if it has rank 3
    int attention = -1;  // of the keys of an Attention: the cache of its values
    ValueId steps = -1;  // what CacheAppend returns
  };

  CachePair& pair(std::size_t k) const { return p_.caches()[k]; }
  ValueId present(std::size_t k) const { return p_.outputs()[pair(k).output]; }
  /// Whether the present is another one in each run, of which nothing is decided yet.
  bool is_open(std::size_t k) const {
    return rows_[k].node < 0 && !pair(k).constant && pair(k).output != CachePair::no_output;
  }
  bool may_keep(std::size_t k) const {
    return is_open(k) && (pair(k).past < 0 || may_grow(pair(k).past)) && !p_.is_captured(present(k));
  }
  bool may_grow(ValueId past) const {
    const Dims& d = p_.info(past).dims;
    const bool fixed = d.ranked() && d.rank() == 4 && d[2].known();
    return !fixed && !p_.is_captured(past);
  }

  /// Present = Concat(past, fresh) along the steps.
  void find_concat(std::size_t k) {
    const int n = may_keep(k) && pair(k).past >= 0 ? p_.maker(present(k)) : -1;
    if (n < 0) return;
    const auto* concat = p_.node(n).op.as<op::Concat>();
    const std::vector<ValueId>& in = p_.node(n).inputs;
    if (concat == nullptr || in.size() != 2 || in[0] != pair(k).past || in[1] == in[0]) return;
    const Dims& fresh = p_.info(in[1]).dims;
    if (fresh.ranked() && concat->axis) pair(k).axis = resolve_axis(*concat->axis, fresh.rank());
    if (!fresh.ranked() || fresh.rank() != 4 || pair(k).axis != 2 || !is_fused_type(p_, in[1]))
      return p_.skipped(n, "it does not append steps of (batch, heads, steps, size)");
    rows_[k] = {n, in[1], 0, -1, -1};
  }
  /// Presents k and v are an Attention's present_key and present_value.
  void find_attention(std::size_t k, std::size_t v) {
    if (k == v || !may_keep(k) || !may_keep(v)) return;
    const int n = p_.maker(present(k));
    if (n < 0 || p_.maker(present(v)) != n) return;
    const Graph::Node& node = p_.node(n);
    const auto operand = [&](std::size_t i) { return i < node.inputs.size() ? node.inputs[i] : -1; };
    const auto* attention = node.op.as<op::Attention>();
    if (attention == nullptr || node.outputs.size() < 3 || node.outputs[1] != present(k) ||
        node.outputs[2] != present(v) || operand(4) != pair(k).past || operand(5) != pair(v).past ||
        operand(6) >= 0)  // the number of keys that count, which there is without a past alone
      return;
    pair(k).axis = pair(v).axis = 2;
    if (node.outputs.size() > 3 && (!p_.readers(node.outputs[3]).empty() || p_.is_output(node.outputs[3])))
      return p_.skipped(n, "its scores are read");
    const Dims &q = p_.info(node.inputs[0]).dims, &value = p_.info(node.inputs[2]).dims;
    const bool packed = q.ranked() && q.rank() == 3;
    if (!q.ranked() || !value.ranked() || !value[value.rank() - 1].known() ||
        !is_fused_type(p_, node.inputs[1]) || !is_fused_type(p_, node.inputs[2]))
      return p_.skipped(n,
                        "it is of no float32, float16 or bfloat16, or the size of its values is not known");
    const int64_t heads = packed ? *attention->kv_num_heads : 0;
    rows_[k] = {n, node.inputs[1], heads, static_cast<int>(v), -1};
    rows_[v] = {n, node.inputs[2], heads, -1, -1};
  }

  /// The present of a graph without the past: all of its steps are fresh, and the graph reads them itself.
  void find_fresh(std::size_t k) {
    if (!may_keep(k) || pair(k).past >= 0 || pair(k).axis != 2) return;
    const int n = p_.maker(present(k));
    const Dims& d = p_.info(present(k)).dims;
    if (n < 0 || !d.ranked() || d.rank() != 4 || !is_fused_type(p_, present(k))) return;
    p_.applied(n, "its result is the first part of a cache");
    rows_[k] = {n, present(k), 0, -1, -1};
  }

  /// The present is the past with rows written, and the past has no other readers.
  void find_update(std::size_t k) {
    const int n = is_open(k) && pair(k).past >= 0 ? p_.maker(present(k)) : -1;
    if (n < 0 || p_.only_reader(pair(k).past) != n) return;
    const Graph::Node& node = p_.node(n);
    pair(k).updated = std::ranges::any_of(node.op.spec().updates, [&](const op::Update& u) {
      const auto in = static_cast<std::size_t>(u.input), out = static_cast<std::size_t>(u.output);
      return in < node.inputs.size() && node.inputs[in] == pair(k).past && out < node.outputs.size() &&
             node.outputs[out] == present(k);
    });
    pair(k).dropped = pair(k).updated && node.op.drops_rows();
  }

  void append(std::size_t k) {
    Rows& r = rows_[k];
    r.steps = p_.add_node(r.node,
                          AnyOperator::make<CacheAppend, fused_types.tensor>(
                              {.cache = static_cast<int64_t>(k), .heads = r.heads}),
                          {r.fresh})[0];
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
    p_.applied(n, "reads the caches of '", name(k), "' and '", name(v), "'");
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
  void widen_window(std::size_t k, int64_t left) {
    Window& w = windows_[k];
    w.unbounded |= left < 0;
    w.steps = std::max(w.steps, left);
  }

  /// What else reads the past and the present: attention, extents, and those that need a dense copy.
  void serve_readers(std::size_t k) {
    fuse_attention_of(k);
    const Rows& r = rows_[k];
    const ValueId past = pair(k).past, now = present(k);
    ValueId before = -1;
    const auto steps_of = [&](bool of_past) {
      if (!of_past) return r.steps;
      if (before < 0)
        before = p_.add_node(r.node, AnyOperator::make(CacheSteps{static_cast<int64_t>(k)}), {})[0];
      return before;
    };
    for (const bool of_past : {true, false}) {
      const ValueId x = of_past ? past : now;
      if (x < 0) continue;
      for (const int m : std::vector<int>(p_.readers(x).begin(), p_.readers(x).end())) {
        const auto* shape = p_.node(m).op ? p_.node(m).op.as<op::Shape>() : nullptr;
        if (shape == nullptr || shape->start != 0 || shape->end) continue;
        p_.replace(m, AnyOperator::make<CacheShape, fused_types.tensor>({r.heads}),
                   {r.fresh, steps_of(of_past)});
      }
      bool read = std::ranges::count(p_.outputs(), x) > (of_past ? 0 : 1);
      for (const int m : p_.readers(x)) read |= m != r.node;
      if (!read) continue;
      p_.skipped(r.node, "'", p_.entry(x).name, "' has other readers, which get a copy in every run");
      widen_window(k, -1);
      p_.redirect(
          x, p_.add_node(r.node,
                         AnyOperator::make<CacheRows, fused_types.tensor>({static_cast<int64_t>(k), r.heads}),
                         {r.fresh, steps_of(of_past)})[0]);
    }
  }
  /// FusedAttention whose keys are present k.
  void fuse_attention_of(std::size_t k) {
    const ValueId keys = present(k);
    for (const int m : std::vector<int>(p_.readers(keys).begin(), p_.readers(keys).end())) {
      const Graph::Node& node = p_.node(m);
      const auto* fused = node.op ? node.op.as<FusedAttention>() : nullptr;
      if (fused == nullptr || fused->heads != 0 || node.inputs[1] != keys || node.inputs[0] == keys) continue;
      for (std::size_t v = 0; v < rows_.size(); ++v) {
        if (v == k || rows_[v].node < 0 || node.inputs[2] != present(v)) continue;
        const Dim size = p_.info(rows_[v].fresh).dims[3];
        if (!size.known()) continue;
        const CachedAttention cached{.keys = static_cast<int64_t>(k),
                                     .values = static_cast<int64_t>(v),
                                     .value_size = size.value(),
                                     .scale = fused->scale,
                                     .one_key_for_all = 1,
                                     .none_is_nan = 1};
        put(m, cached, node.inputs[0], node.inputs.size() > 3 ? node.inputs[3] : -1, node.outputs[0]);
        break;
      }
    }
  }

  /// The program returns the number of a cache's steps in place of the present: a run adds its steps even if
  /// nothing that is asked for reads them.
  void count_steps() {
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      if (rows_[k].node < 0) continue;
      const Window& w = windows_[k];
      pair(k).kept = true, pair(k).window = w.unbounded ? -1 : w.steps;  // without a reader, -1 as well
      p_.set_output(pair(k).output, rows_[k].steps);
    }
  }

  struct Window {
    int64_t steps = -1;
    bool unbounded = false;
  };

  Program& p_;
  std::vector<Rows> rows_;
  std::vector<Window> windows_ = std::vector<Window>(rows_.size());
};

}  // namespace detail

inline void apply_keep_caches(Program& program) { detail::KeptCaches(program).apply(); }

/// Reads Program::caches. It comes last, after fuse_attention.
inline constexpr Pass keep_caches{"keep_caches", apply_keep_caches};

}  // namespace tenon::TENON_ABI::passes

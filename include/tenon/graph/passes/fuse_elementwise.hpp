// fuse_elementwise: connected elementwise nodes with results of the same extents become one node. It runs all
// its steps a tile at a time, so that only its operands and its result go through memory. Consecutive cheap
// functions of floats form one step, whose intermediate results stay in registers. Nodes whose results are
// known to be small stay as they are.
#pragma once

#include "tenon/graph/passes/match.hpp"
#include "tenon/graph/passes/packed.hpp"
#include "tenon/kernels/elementwise/steps.hpp"
#include "tenon/op/math/abs.hpp"
#include "tenon/op/math/max.hpp"
#include "tenon/op/math/min.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/math/sqrt.hpp"
#include "tenon/op/math/sub.hpp"
#include "tenon/simd/copy.hpp"
#include "tenon/simd/features.hpp"

namespace tenon::TENON_ABI::passes {

/// y = the last of a list of operators, each of which reads the node's operands and the results of earlier
/// ones. Operands have y's extents, or are numbers broadcast to y.
struct FusedElementwise {
  /// A function of a chain; `operand` is the place of its array among the step's inputs, or 0.
  struct Link {
    kernels::ChainStep step;
    std::size_t operand = 0;
  };
  struct Step {
    AnyOperator op;
    std::vector<int> inputs;  ///< operand k of the node is k, the result of step s is ~s, none is `absent`
    int buffer = 0;           ///< where the result's tile lies; past the end: in y
    std::vector<Link> chain;  ///< if not empty, what the step does in place of `op`, from its first input on
  };
  static constexpr int absent = std::numeric_limits<int>::max();

  std::vector<Step> steps;
  std::vector<bool> whole;           ///< for each operand: whether it has y's extents
  std::vector<DType> buffers;        ///< the element type of each
  DType element = DType::undefined;  ///< of y

  static constexpr op::Spec spec = [] {
    op::Spec s = op::own_spec("FusedElementwise",
                              {{.name = "x", .type = "T1", .arity = op::variadic, .heterogeneous = true}},
                              {{"y", "T2"}}, {{"T1", types::all}, {"T2", types::all}});
    s.memory = op::Memory::elementwise;
    return s;
  }();

  constexpr void infer(op::Infer& i) const {
    Dims y;
    for (int k = 0; k < i.inputs(); ++k) {
      if (!whole[static_cast<std::size_t>(k)]) {
        if (!i.expect_one(k)) return;
      } else {
        y = y.ranked() ? i.unify(y, i.dims(k), "extents of operands") : i.dims(k);
      }
    }
    i.out(0, element, y);
  }
  void compute(op::Context& context, std::span<const AnyView> x, AnyOut y) const {
    const bool far = y.size() >= far_size && !simd::prefetches_enough();
    const int64_t length = far ? tile / 2 : tile, tiles = (y.size() + length - 1) / length;
    const Tiles to(y, length);
    // Tiles of y are then copied past the caches from two buffers, unless y overwrites an operand, whose
    // lines are cached.
    const bool past_caches =
        far && packed_bytes(y.size(), element) >= simd::beyond_caches &&
        std::ranges::none_of(x, [&](const AnyView& operand) { return operand.data() == y.data(); });
    parallel_for(tiles, std::clamp<int64_t>(tiles / 8, 1, 32), [&](int64_t first, int64_t end) {
      Scratch scratch;
      const std::size_t count = buffers.size();
      std::byte* const memory =
          scratch.take<std::byte>(static_cast<int64_t>(count + (past_caches ? 2 : 0)) * tile_bytes);
      const auto waiting = [&](int64_t t) {
        return memory + (static_cast<int64_t>(count) + t % 2) * tile_bytes;
      };
      // The operands, the values in the buffers, and y. Borrowing values own nothing that must be freed.
      auto* const values = reinterpret_cast<Value*>(
          scratch.take<std::byte>(static_cast<int64_t>((x.size() + count + 1) * sizeof(Value))));
      Value* const results = values + x.size();
      Tiles* const from = scratch.take<Tiles>(static_cast<int64_t>(x.size()));
      for (std::size_t k = 0; k < x.size(); ++k) {
        from[k] = Tiles(x[k], whole[k] ? length : 0);
        if (!whole[k]) set(values + k, x[k].dtype(), x[k].data(), {});
      }
      int64_t made = 0;  // the tile size of the current values
      for (int64_t t = first; t < end; ++t) {
        const int64_t size = std::min(length, y.size() - t * length);
        std::byte* const result = past_caches ? waiting(t) : to.at(t);
        if (size != made) {
          for (std::size_t k = 0; k < x.size(); ++k)
            if (whole[k]) set(values + k, x[k].dtype(), from[k].at(t), {size});
          for (std::size_t b = 0; b < count; ++b)
            set(results + b, buffers[b], memory + static_cast<int64_t>(b) * tile_bytes, {size});
          set(results + count, element, result, {size});
          made = size;
        } else {
          for (std::size_t k = 0; k < x.size(); ++k)
            if (whole[k]) values[k].tensor().borrow(from[k].at(t));
          results[count].tensor().borrow(result);
        }
        // Overlaps memory traffic with computing: each turn transfers a share of the adjacent tiles.
        const auto work_ahead = [&](std::size_t turn, std::size_t turn_end) {
          if (!far) return;
          if (past_caches && t > first) {
            const auto [begin, stop] = share(to.bytes, turn, turn_end);
            simd::copy_beyond_caches(to.at(t - 1) + begin, waiting(t - 1) + begin,
                                     static_cast<std::size_t>(stop - begin));
          }
          if (t + 1 == end || (t + 2) * length > y.size()) return;
          for (std::size_t k = 0; k < x.size(); ++k) fetch(from[k], t + 1, turn, turn_end);
          if (!past_caches) fetch(to, t + 1, turn, turn_end);
        };
        for (std::size_t s = 0; s < steps.size(); ++s) {
          const auto& [op, inputs, buffer, chain] = steps[s];
          const Value* in[max_inputs];
          for (std::size_t k = 0; k < inputs.size(); ++k)
            in[k] = inputs[k] == absent ? nullptr
                    : inputs[k] >= 0    ? values + inputs[k]
                                        : results + steps[static_cast<std::size_t>(~inputs[k])].buffer;
          Value* const out[] = {results + buffer};
          if (chain.empty()) {
            op.call()(context, std::span(in, inputs.size()), out);
            work_ahead(s * turns, (s + 1) * turns);
            continue;
          }
          const std::size_t parts = far ? turns : 1;
          const int64_t part = length / static_cast<int64_t>(parts);
          for (std::size_t turn = 0; turn < parts; ++turn) {
            const int64_t at = part * static_cast<int64_t>(turn);
            run_chain(chain, in, *out[0], at, std::clamp<int64_t>(size - at, 0, part));
            work_ahead(s * turns + turn, s * turns + turn + 1);
          }
        }
      }
      if (past_caches) {
        const int64_t size = std::min(length, y.size() - (end - 1) * length);
        simd::copy_beyond_caches(to.at(end - 1), waiting(end - 1),
                                 static_cast<std::size_t>(packed_bytes(size, element)));
        simd::end_copies_beyond_caches();
      }
    });
  }

  static constexpr std::size_t max_inputs = 8, max_links = 16;
  // A result's tile stays in the first-level cache for the next step, and the calls per tile cost little
  // compared with its elements.
  static constexpr int64_t tile = 4096, tile_bytes = tile * 4;
  // Results of at least this many elements, and their operands, mostly lie in memory. For data in a shared
  // cache, the hardware prefetcher does better. Tiles are then half as long, because memory accepts only a
  // limited number of requests at once.
  static constexpr int64_t far_size = 1 << 21;

 private:
  /// An array in tiles; all at the same address for an operand that is broadcast to y.
  struct Tiles {
    std::byte* data;
    int64_t bytes;  ///< of a tile
    template <class View>
    Tiles(const View& v, int64_t length)
        : data(static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(v.data())))),
          bytes(packed_bytes(length, v.dtype())) {}
    std::byte* at(int64_t t) const { return data + t * bytes; }
  };
  // The parts in which a chain processes a tile; other steps count as that many.
  static constexpr std::size_t turns = 8;

  /// The share of a tile for a range of all steps' turns, in whole cache lines.
  std::pair<int64_t, int64_t> share(int64_t bytes, std::size_t turn, std::size_t turn_end) const {
    const auto lines = static_cast<std::size_t>(bytes / 64), count = steps.size() * turns;
    return {static_cast<int64_t>(lines * turn / count * 64),
            static_cast<int64_t>(lines * turn_end / count * 64)};
  }
  /// Prefetches a share of a tile. Inlined, because GCC would drop the call as one without effect.
  [[gnu::always_inline]] void fetch(const Tiles& of, int64_t t, std::size_t turn,
                                    std::size_t turn_end) const {
    const auto [begin, end] = share(of.bytes, turn, turn_end);
    for (int64_t byte = begin; byte < end; byte += 64) __builtin_prefetch(of.at(t) + byte, 0, 2);
  }
  /// Computes elements [at, at + size) of a chain's result.
  static void run_chain(const std::vector<Link>& chain, const Value* const* in, Value& out, int64_t at,
                        int64_t size) {
    const auto floats = [&](std::size_t k) { return static_cast<const float*>(in[k]->tensor().data()) + at; };
    kernels::ChainStep links[max_links];
    for (std::size_t l = 0; l < chain.size(); ++l) {
      links[l] = chain[l].step;
      if (chain[l].operand != 0) links[l].operand = floats(chain[l].operand);
    }
    kernels::run_chain({links, chain.size()}, floats(0), static_cast<float*>(out.tensor().out().data()) + at,
                       size);
  }
  static void set(Value* value, DType type, const void* data, const Extents& extents) {
    const auto bytes = static_cast<std::size_t>(packed_bytes(extent_product(extents), type));
    ::new (static_cast<void*>(value))
        Value(AnyTensor(type, extents, Storage::borrow(const_cast<void*>(data), bytes)));
  }
};

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

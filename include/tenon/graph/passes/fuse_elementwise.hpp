// fuse_elementwise: nodes that work element by element, and hand a result of the same extents to each other,
// become one node. It takes them through all its steps a tile at a time, so that only its operands and its
// result go through memory.
#pragma once

#include "tenon/graph/passes/match.hpp"

namespace tenon::passes {

/// y = the last of a list of operators, each of which reads the node's operands and the results of earlier
/// ones. Operands have y's extents, or are numbers that stand for all of y.
struct FusedElementwise {
  struct Step {
    AnyOperator op;
    std::vector<int> inputs;  ///< operand k of the node is k, the result of step s is ~s, none is `absent`
    DType element;            ///< of the result
    int buffer = -1;          ///< where the result's tile lies; -1: in y
  };
  static constexpr int absent = std::numeric_limits<int>::max();

  std::vector<Step> steps;
  std::vector<bool> whole;  ///< for each operand: whether it has y's extents
  int buffers = 0;

  static constexpr op::Spec spec{
      .name = "FusedElementwise",
      .domain = "tenon",
      .since = {1},
      .inputs = {{.name = "x", .type = "T1", .arity = op::variadic, .heterogeneous = true}},
      .outputs = {{"y", "T2"}},
      .types = {{"T1", types::all}, {"T2", types::all}},
      .memory = op::Memory::elementwise};
  static constexpr op::Attributes attributes{};

  constexpr void infer(op::Infer& i) const {
    Dims y;
    for (int k = 0; k < i.inputs(); ++k) {
      if (!whole[static_cast<std::size_t>(k)]) {
        if (!i.expect_one(k)) return;
      } else {
        y = y.ranked() ? i.unify(y, i.dims(k), "extents of operands") : i.dims(k);
      }
    }
    i.out(0, steps.back().element, y);
  }
  void compute(op::Context& context, std::span<const AnyView> x, AnyOut y) const {
    const int64_t tiles = (y.size() + tile - 1) / tile;
    parallel_for(tiles, std::clamp<int64_t>(tiles / 8, 1, 16), [&](int64_t first, int64_t end) {
      const ScopedPool serial(nullptr);
      Scratch scratch;
      std::byte* const memory = scratch.take<std::byte>(buffers * tile_bytes);
      const std::size_t count = x.size() + steps.size();
      const auto values_bytes = static_cast<int64_t>(count * sizeof(Value));
      auto* const operands = reinterpret_cast<Value*>(scratch.take<std::byte>(values_bytes));
      Value* const results = operands + x.size();
      std::uninitialized_value_construct_n(operands, count);
      for (std::size_t k = 0; k < x.size(); ++k)
        if (!whole[k]) operands[k] = part(x[k].dtype(), x[k].data(), 0, 1, {});
      int64_t made = 0;  // elements of the tile for which results in buffers are made
      for (int64_t t = first; t < end; ++t) {
        const int64_t from = t * tile, size = std::min(tile, y.size() - from);
        for (std::size_t k = 0; k < x.size(); ++k)
          if (whole[k]) operands[k] = part(x[k].dtype(), x[k].data(), from, size, {size});
        for (std::size_t s = 0; s < steps.size(); ++s) {
          const auto& [op, inputs, element, buffer] = steps[s];
          if (buffer < 0) results[s] = part(element, y.data(), from, size, {size});
          else if (size != made) results[s] = part(element, memory + buffer * tile_bytes, 0, size, {size});
          const Value* in[max_inputs];
          for (std::size_t k = 0; k < inputs.size(); ++k)
            in[k] = inputs[k] == absent ? nullptr
                    : inputs[k] >= 0    ? operands + inputs[k]
                                        : results + ~inputs[k];
          Value* const out[] = {&results[s]};
          op.run(context, std::span(in, inputs.size()), out);
        }
        made = size;
      }
      std::destroy_n(operands, count);
    });
  }

  static constexpr std::size_t max_inputs = 8;

 private:
  /// `size` elements of a tensor, from one on.
  static Value part(DType element, const void* data, int64_t from, int64_t size, const Extents& extents) {
    auto* const start = static_cast<std::byte*>(const_cast<void*>(data)) + packed_bytes(from, element);
    return AnyTensor(element, extents,
                     Storage::borrow(start, static_cast<std::size_t>(packed_bytes(size, element))));
  }

  // A few tiles stay in the second-level cache, and the calls of a tile's steps cost little beside its
  // elements.
  static constexpr int64_t tile = 8192, tile_bytes = tile * 4;
};

namespace detail {

class ElementwiseGroups {
 public:
  explicit ElementwiseGroups(Program& program) : p_(program) {}

  void apply() {
    // From the last nodes to the first, so that a group begins with the node that hands its result on.
    for (int n = static_cast<int>(p_.nodes().size()); n-- > 0;)
      if (p_.node(n).op && fuses(n)) fuse(n);
  }

 private:
  static constexpr std::size_t most_steps = 64;

  /// Whether a node computes each element of a result of floats from its operands' elements at the same
  /// place, and from numbers.
  bool fuses(int n) const {
    static constexpr std::string_view others[] = {"Cast", "CastLike", "Where"};
    const Graph::Node& node = p_.node(n);
    if (!fits(p_, n) || node.outputs.size() != 1 || node.inputs.size() > FusedElementwise::max_inputs ||
        !is_fused_type(p_, node.outputs[0]))
      return false;
    const op::Spec& spec = node.op.spec();
    if (!is_function(spec) && !is_arithmetic(spec) &&
        !(spec.domain.empty() && std::ranges::find(others, spec.name) != std::end(others)))
      return false;
    bool any = false;
    for (ValueId v : node.inputs) {
      if (v < 0) continue;
      any |= is_whole(v, node);
      if (!is_whole(v, node) && !p_.info(v).dims.count().is(1)) return false;
    }
    return any;
  }
  bool is_whole(ValueId v, const Graph::Node& node) const {
    return same_extents(p_.info(v).dims, p_.info(node.outputs[0]).dims);
  }

  /// Whether nobody but these nodes reads a value.
  bool read_by(const std::vector<int>& group, ValueId v) const {
    return !p_.is_output(v) && std::ranges::all_of(p_.readers(v), [&](int n) {
      return std::ranges::find(group, n) != group.end();
    });
  }

  void fuse(int last) {
    std::vector<int> group{last};  // falling
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
      FusedElementwise::Step step{node.op, {}, p_.info(node.outputs[0]).type.element};
      for (ValueId v : node.inputs) {
        if (v >= 0 && !numbers.contains(v)) {
          numbers[v] = static_cast<int>(operands.size());
          operands.push_back(v);
          fused.whole.push_back(is_whole(v, p_.node(last)));
        }
        step.inputs.push_back(v < 0 ? FusedElementwise::absent : numbers[v]);
      }
      numbers[node.outputs[0]] = ~static_cast<int>(fused.steps.size());
      fused.steps.push_back(std::move(step));
      text += concat(text.empty() ? "" : ", ", p_.label(n));
    }
    give_buffers(fused);
    p_.applied(last, "fused: ", text);
    p_.replace(last, AnyOperator::make(fused), std::move(operands));
  }

  /// Buffers of dead results are used again. A step may write over its own operands.
  static void give_buffers(FusedElementwise& fused) {
    std::vector<int> free;
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
      fused.steps[s].buffer = free.empty() ? fused.buffers++ : free.back();
      if (!free.empty()) free.pop_back();
    }
  }

  Program& p_;
};

}  // namespace detail

inline void apply_fuse_elementwise(Program& program) { detail::ElementwiseGroups(program).apply(); }

inline constexpr Pass fuse_elementwise{"fuse_elementwise", apply_fuse_elementwise};

}  // namespace tenon::passes

// The memory plan of a run. Values get offsets in one arena by their lifetimes. A result overwrites an
// operand that dies, an operator that only changes extents shares its operand's memory, and the operands of a
// Concat are written directly into its result.
#pragma once

#include <bit>

#include "tenon/base/platform/exceptions.hpp"
#include "tenon/graph/refusal.hpp"

namespace tenon::TENON_ABI::detail {

/// Where a value's elements are stored.
enum class Place : uint8_t {
  none,      ///< it has no readers
  fixed,     ///< a constant, or an integer vector that the rules already computed
  given,     ///< an input or a captured value: the caller's memory
  arena,     ///< in the arena, at Entry::offset
  own,       ///< the frame's own memory, kept between runs: strings
  output,    ///< a graph output's memory
  run_time,  ///< assigned in the run: extents that depend on data, and values other than tensors
};

enum class Action : uint8_t {
  skip,     ///< nothing to do: the results are fixed or share the operand's memory
  compute,  ///< operands and results have memory: call the operator
  check,    ///< the same for operands whose extents only the run knows: ask the rule first
  rename,   ///< the first result is the first operand's memory under other extents
  infer,    ///< extents are known only in the run: infer, allocate, call
  fresh,    ///< the operator allocates its results itself
};

/// Types, extents, places and actions for one set of input extents.
struct Plan {
  struct Entry {
    op::Info info;
    Place place = Place::none;
    int root = -1;       ///< the value whose memory it shares; itself when the memory is its own
    int64_t offset = 0;  ///< place arena: the root's offset in bytes
    int64_t shift = 0;   ///< place arena: bytes from the root's offset to the value
    int output = -1;     ///< place output: the output's number
    int last = -1;       ///< the last node that reads the value; for a root, the last one that reads its
                         ///< memory
  };
  std::vector<Entry> values;
  std::vector<Action> actions;  ///< one for each node
  int64_t arena_bytes = 0;
  int64_t naive_bytes = 0;  ///< the arena's size if values did not share memory
};

/// The rules of nodes that run bodies, for a plan that includes what the bodies do: their results have places
/// in it.
class BodyRules {
 public:
  virtual ~BodyRules() = default;
  /// `plan` has the infos of the values that the node's bodies capture.
  virtual op::Message infer(const Plan& plan, const GraphNode& n, std::span<const op::Info> in,
                            std::span<op::Info> out) const = 0;
};

class Planner {
 public:
  /// `given` has the types and extents of the program's given values. With `of_run`, the plan is for a run:
  /// rules that refuse operands of unknown extents are asked again in the run, which knows the numbers.
  /// Without `bodies`, the results of nodes that run bodies are made in the run.
  Planner(const Program& program, std::span<const op::Info> given, bool of_run = false,
          const BodyRules* bodies = nullptr)
      : program_(program), of_run_(of_run), bodies_(bodies) {
    plan_.values.resize(program.values().size());
    first_.assign(program.values().size(), -1);
    next_.resize(program.values().size());
    joins_.resize(program.values().size());
    for (std::size_t k = 0; k < given.size(); ++k) {
      const ValueId v = program.given()[k].value;
      at(v).info = given[k];
      own(v, Place::given);
    }
    for (ValueId v = 0; v < static_cast<ValueId>(plan_.values.size()); ++v)
      if (const Value& c = program.stored(v)) {
        at(v).info = op::info_of(c);
        own(v, Place::fixed);
      }
    find_last_uses();
    for (std::size_t s = 0; s < program.nodes().size(); ++s)
      plan_.actions.push_back(step(static_cast<int>(s)));
    // If an output shares an arena value's memory, the root's place becomes `output`, and so does the place
    // of the other values that share it.
    for (Plan::Entry& e : plan_.values)
      if (e.root >= 0) e.place = plan_.values[static_cast<std::size_t>(e.root)].place;
    lay_out();
  }
  Plan take() && { return std::move(plan_); }

 private:
  Plan::Entry& at(ValueId v) { return plan_.values[static_cast<std::size_t>(v)]; }
  Plan::Entry& root(ValueId v) { return at(at(v).root); }
  const Graph::Node& node(int s) const { return program_.nodes()[static_cast<std::size_t>(s)]; }
  void own(ValueId v, Place place) {
    at(v).place = place;
    at(v).root = v;
    next_[static_cast<std::size_t>(v)] = v;
  }
  static int64_t bytes_of(const op::Info& i) {
    return packed_bytes(element_count(i.dims.extents()), i.type.element);
  }

  void find_last_uses() {
    for (std::size_t s = 0; s < program_.nodes().size(); ++s) {
      const Graph::Node& n = node(static_cast<int>(s));
      for (ValueId v : n.inputs)
        if (v >= 0) at(v).last = static_cast<int>(s);
      for (ValueId v : n.captures) at(v).last = static_cast<int>(s);
    }
    outputs_.assign(plan_.values.size(), -1);
    for (std::size_t o = 0; o < program_.outputs().size(); ++o) {
      const ValueId v = program_.outputs()[o];
      if (outputs_[static_cast<std::size_t>(v)] < 0)
        outputs_[static_cast<std::size_t>(v)] = static_cast<int>(o);
    }
  }

  Action step(int s) {
    const Graph::Node& n = node(s);
    in_.clear();
    out_.assign(n.outputs.size(), op::Info{});
    for (ValueId v : n.inputs) in_.push_back(v < 0 ? op::Info{} : at(v).info);
    const bool certain =
        std::ranges::all_of(in_, [](const op::Info& i) { return !i.present() || i.dims.known(); });
    const bool with_bodies = bodies_ != nullptr && n.op.takes_graphs();
    const auto infer = [&] {
      return with_bodies ? bodies_->infer(plan_, n, in_, out_) : n.op.infer(in_, out_);
    };
    const op::Message refused = attempt<Error>(infer, [&](const Error& e) { rethrow_at(n, e); });
    if (!refused.empty() && (certain || !postpone(n)))
      raise_refusal(program_, n, in_, refused, [&](ValueId v) { return at(v).info; });
    // A provisional result comes from a rule that lacks some of the values it needs, and may still refuse
    // them. The run then calls the rule again with all values.
    bool known = true;
    for (std::size_t k = 0; k < out_.size(); ++k) {
      known &= !std::exchange(out_[k].provisional, false);
      out_[k].data = nullptr;
      at(n.outputs[k]).info = out_[k];
      known &= out_[k].type.kind == Kind::tensor && out_[k].dims.known();
    }
    if (known && n.outputs.size() == 1 && values_known(n.outputs[0])) {
      own(n.outputs[0], Place::fixed);
      return Action::skip;
    }
    if (known && n.op.spec().memory == op::Memory::alias && rename(n))
      return root(n.outputs[0]).place == Place::given ? Action::rename : Action::skip;
    if (!known || !(n.op.planned() || with_bodies)) {
      for (ValueId v : n.outputs) own(v, Place::run_time);
      return n.op.planned() ? Action::infer : Action::fresh;
    }
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
      const ValueId v = n.outputs[k];
      const bool left_out =
          !program_.used(v) && n.op.spec().output(static_cast<int>(k)).arity == op::Arity::optional;
      if (left_out && !n.op.spec().results_decide) continue;
      if (k == 0 && n.op.spec().memory == op::Memory::elementwise && overwrite(s, n, v)) continue;
      place_result(v, s);
      if (n.op.spec().memory == op::Memory::join) adopt(n, v);
    }
    // A rule may know the results without them: one operand of a broadcast can be enough.
    return certain ? Action::compute : Action::check;
  }

  /// Whether the run can ask the rule again that has refused the operands. The results' extents are then
  /// unknown.
  bool postpone(const Graph::Node& n) {
    if (!of_run_ || !n.op.planned()) return false;
    for (op::Info& i : out_) {
      if (i.type.kind != Kind::tensor || i.type.element == DType::undefined) return false;
      i.dims = {}, i.propagated = {};
    }
    return true;
  }

  bool values_known(ValueId v) const {
    const op::Info& i = plan_.values[static_cast<std::size_t>(v)].info;
    if (!i.propagated.known() || i.dims.rank() > 1 || outputs_[static_cast<std::size_t>(v)] >= 0)
      return false;
    if (i.type.element != DType::int64 && i.type.element != DType::int32) return false;
    for (int k = 0; k < i.propagated.size(); ++k)
      if (!i.propagated[k].known()) return false;
    return i.dims.count().is(i.propagated.size());
  }

  void place_result(ValueId v, int s) {
    const int output = outputs_[static_cast<std::size_t>(v)];
    own(v, output >= 0                                ? Place::output
           : at(v).info.type.element == DType::string ? Place::own
                                                      : Place::arena);
    at(v).output = output;
    at(v).last = std::max(at(v).last, s);
    first_[static_cast<std::size_t>(v)] = s;
  }

  /// Lets v share the memory of value r. False if v is an output and r's memory is not in the arena.
  bool share(ValueId v, ValueId r) {
    Plan::Entry& memory = root(r);
    const int output = outputs_[static_cast<std::size_t>(v)];
    if (output >= 0) {
      if (memory.place != Place::arena || joins_[static_cast<std::size_t>(at(r).root)]) return false;
      memory.place = Place::output;
      memory.output = output;
    }
    at(v).root = at(r).root;
    at(v).shift = at(r).shift;
    at(v).place = memory.place;
    memory.last = std::max(memory.last, at(v).last);
    std::swap(next_[static_cast<std::size_t>(v)] = v, next_[static_cast<std::size_t>(at(r).root)]);
    return true;
  }

  /// Places the operands of a join consecutively in its result v, so that nothing is copied. Possible if all
  /// axes before the joined one have extent 1.
  void adopt(const Graph::Node& n, ValueId v) {
    if (at(v).place != Place::arena || bits_of(at(v).info.type.element) % 8 != 0) return;
    const Dims& y = at(v).info.dims;
    int axis = 0;  // the joined axis, if the conditions are met
    while (axis < y.rank() && y[axis].is(1)) ++axis;
    Dim sum = 0;
    for (ValueId x : n.inputs) {
      const Dims& d = at(x).info.dims;
      for (int k = 0; k < y.rank(); ++k)
        if (k != axis && !d[k].same(y[k])) return;
      if (axis < y.rank()) sum = sum + d[axis];
    }
    if (axis == y.rank() || !sum.same(y[axis])) return;
    int64_t shift = 0;
    for (ValueId x : n.inputs) {
      const int64_t bytes = bytes_of(at(x).info);
      const ValueId r = at(x).root;
      if (r >= 0 && r != v && at(r).place == Place::arena && bytes_of(at(r).info) == bytes)
        adopt(r, v, shift);
      shift += bytes;
    }
  }
  /// Moves root r, with the values that share its memory, into the memory of root v.
  void adopt(ValueId r, ValueId v, int64_t shift) {
    ValueId w = r;
    do {
      at(w).root = v;
      at(w).shift += shift;
      w = next_[static_cast<std::size_t>(w)];
    } while (w != r);
    std::swap(next_[static_cast<std::size_t>(r)], next_[static_cast<std::size_t>(v)]);
    at(v).last = std::max(at(v).last, at(r).last);
    int& first = first_[static_cast<std::size_t>(v)];
    first = std::min(first, first_[static_cast<std::size_t>(r)]);
    joins_[static_cast<std::size_t>(v)] = true;
  }

  /// Lets the first result share the first operand's memory. False if another result is used, because only
  /// the operator can compute that one.
  bool rename(const Graph::Node& n) {
    const ValueId v = n.outputs[0], x = n.inputs.empty() ? -1 : n.inputs[0];
    if (x < 0 || at(x).info.type.kind != Kind::tensor || at(x).place == Place::run_time || at(x).root < 0)
      return false;
    if (!at(x).info.dims.count().same(at(v).info.dims.count()) || !(at(x).info.type == at(v).info.type))
      return false;
    for (std::size_t k = 1; k < n.outputs.size(); ++k)
      if (program_.used(n.outputs[k])) return false;
    return share(v, x);
  }

  bool overwrite(int s, const Graph::Node& n, ValueId v) {
    for (ValueId x : n.inputs) {
      if (x < 0 || at(x).root < 0 || !(at(x).info.type == at(v).info.type) ||
          !(at(x).info.dims == at(v).info.dims))
        continue;
      const Plan::Entry& memory = root(x);
      if (memory.place != Place::arena || memory.last > s) continue;
      bool safe = true;  // another operand in the same memory must be read in step with the result
      for (ValueId y : n.inputs)
        if (y >= 0 && y != x && at(y).root == at(x).root && !(at(y).info.dims == at(v).info.dims))
          safe = false;
      for (ValueId y : n.captures)
        if (at(y).root == at(x).root) safe = false;
      if (safe && share(v, x)) return true;
    }
    return false;
  }

  struct Block {
    ValueId value;
    int first, last;
    int64_t bytes;
  };
  /// Placed blocks, ordered by their first steps, with a heap of their last steps. Lists the blocks that are
  /// alive at the same time as another one without visiting the rest.
  class Placed {
   public:
    explicit Placed(std::size_t blocks) : leaves_(std::bit_ceil(blocks)), last_(2 * leaves_, -1) {}
    void add(std::size_t block, int last) {
      for (std::size_t k = leaves_ + block; k > 0 && last_[k] < last; k /= 2) last_[k] = last;
    }
    /// Calls f(k) for each block k < end whose last step is not before `first`, until f returns false.
    template <class F>
    bool each(std::size_t end, int first, F f, std::size_t node = 1, std::size_t begin = 0,
              std::size_t width = 0) const {
      if (node == 1) width = leaves_;
      if (begin >= end || last_[node] < first) return true;
      if (width == 1) return f(begin);
      width /= 2;
      return each(end, first, f, 2 * node, begin, width) &&
             each(end, first, f, 2 * node + 1, begin + width, width);
    }

   private:
    std::size_t leaves_;
    std::vector<int> last_;
  };

  // Places the largest values first, each at the lowest offset that overlaps no value of an overlapping
  // lifetime. A value whose lifetime overlaps too many others is placed after them all: the search for gaps
  // would take quadratic time.
  void lay_out() {
    std::vector<Block> blocks;
    for (ValueId v = 0; v < static_cast<ValueId>(first_.size()); ++v) {
      const int s = first_[static_cast<std::size_t>(v)];
      if (s < 0 || at(v).root != v || at(v).place != Place::arena) continue;
      const int64_t bytes = bytes_of(at(v).info);
      if (bytes > INT64_MAX / 4) raise(ErrorCode::out_of_memory, "plan", "a value is larger than memory");
      blocks.push_back({v, s, at(v).last, (bytes + 63) / 64 * 64});
      plan_.naive_bytes += blocks.back().bytes;
      if (plan_.naive_bytes > INT64_MAX / 4)
        raise(ErrorCode::out_of_memory, "plan", "the values are larger than memory");
    }
    std::ranges::sort(blocks, {}, &Block::first);
    std::vector<std::size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      return blocks[a].bytes != blocks[b].bytes ? blocks[a].bytes > blocks[b].bytes
                                                : blocks[a].value < blocks[b].value;
    });
    constexpr std::size_t most_neighbours = 512;
    Placed placed(blocks.size());
    std::vector<std::pair<int64_t, int64_t>> taken;  // offsets and ends
    for (const std::size_t k : order) {
      const Block& b = blocks[k];
      taken.clear();
      const auto end = std::ranges::upper_bound(blocks, b.last, {}, &Block::first) - blocks.begin();
      const bool few = placed.each(static_cast<std::size_t>(end), b.first, [&](std::size_t o) {
        const int64_t offset = at(blocks[o].value).offset;
        taken.emplace_back(offset, offset + blocks[o].bytes);
        return taken.size() <= most_neighbours;
      });
      std::ranges::sort(taken);
      int64_t offset = few ? 0 : plan_.arena_bytes;
      for (const auto& [from, to] : taken)
        if (from < offset + b.bytes && offset < to) offset = to;
      at(b.value).offset = offset;
      plan_.arena_bytes = std::max(plan_.arena_bytes, offset + b.bytes);
      placed.add(k, b.last);
    }
  }

  const Program& program_;
  const bool of_run_;
  const BodyRules* bodies_;
  Plan plan_;
  std::vector<int> outputs_;   // for each value: its index in the program's outputs, or -1
  std::vector<int> first_;     // the first step that writes a root's memory, or -1
  std::vector<ValueId> next_;  // values that share memory form a ring
  std::vector<bool> joins_;    // roots that contain operands of a join
  std::vector<op::Info> in_, out_;
};

/// The plan for a run. If a later node stands in the way of postponing a refusal, that is raised now.
inline Plan plan_of_run(const Program& program, std::span<const op::Info> given) {
  return attempt<Error>([&] { return Planner(program, given, true).take(); },
                        [&](const Error&) { return Planner(program, given).take(); });
}

}  // namespace tenon::TENON_ABI::detail

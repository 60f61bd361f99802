// Function bodies of program.hpp: constants, and the nodes that are computed because their operands are
// constant.
#pragma once

#include "tenon/base/lasting.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/exceptions.hpp"
#include "tenon/graph/program.hpp"

namespace tenon::TENON_ABI {

namespace detail {

/// An aligned copy of the tensor's bytes, which may be unaligned. Pages of a mapped file are released after
/// copying.
inline AnyTensor aligned_copy(const AnyTensor& from) {
  constexpr int64_t step = int64_t{1} << 22;
  AnyTensor to = AnyTensor::uninitialized(from.dtype(), from.extents(), lasting_allocator());
  const auto* source = static_cast<const std::byte*>(from.storage().data());
  auto* target = static_cast<std::byte*>(to.out().data());
  const bool in_file = from.storage().file_part() != nullptr;
  parallel_for(from.bytes(), step, [&](int64_t begin, int64_t end) {
    for (; begin < end; begin += step) {
      const auto size = static_cast<std::size_t>(std::min(step, end - begin));
      std::memcpy(target + begin, source + begin, size);
      if (in_file) forget_pages(source + begin, size);
    }
  });
  return to;
}

/// Services for a node that is computed before any run. The bounds, if there are any, outlive it.
class FoldingContext final : public op::Context {
 public:
  FoldingContext(Allocator& allocator, Budget* budget) : op::Context(allocator), budget_(budget) {}
  Budget* budget() const override { return budget_; }

 private:
  Budget* budget_;
};

}  // namespace detail

inline const Value& Program::constant(ValueId v) const {
  Value& c = entry(v).constant;
  if (c.is_tensor() && !c.tensor().aligned()) c = detail::aligned_copy(c.tensor());
  return c;
}

inline bool Program::fold(const Node& n, std::span<const Pass> passes) {
  bool all = static_cast<bool>(n.op);
  for_each_operand(n, [&](ValueId v) { all &= static_cast<bool>(stored(v)); });
  const auto keeps = [&](const Pass& pass) { return pass.keeps != nullptr && pass.keeps(*this, n); };
  if (!all || !may_fold(n) || std::ranges::any_of(passes, keeps)) return false;
  std::vector<const Value*> in;
  for (ValueId v : n.inputs) in.push_back(v < 0 ? nullptr : &constant(v));
  // The bound on folding does not include characters, and each node of a chain can double them. So only nodes
  // that read short strings and make few are folded.
  std::size_t characters = 0;
  for (const Value* v : in)
    if (v != nullptr)
      for_each_text(*v, [&](const std::string& s) { characters = std::max(characters, s.size()); });
  if (characters > 128) return false;
  // How often a body runs depends on its operands.
  std::optional<detail::Budget> bounds;
  const RunOptions few_runs{.max_iterations = detail::most_folded_iterations,
                            .max_bytes = detail::most_folded_in_loop};
  if (n.op.takes_graphs()) {
    int64_t bytes = 0;
    for (const Value* v : in) bytes += v == nullptr ? 0 : content_bytes(*v);
    if (!detail::folds_loops || bytes > detail::most_folded_in_loop) return false;
    bounds.emplace(few_runs, *folded_);
  }
  std::vector<Value> out;
  // Errors are not raised here, but in the run if it executes the node: the branch of an If may never be
  // taken. A few bytes of a file may request a huge constant, whose memory is refused before the operator
  // computes it.
  const auto compute = [&] {
    detail::Meter::Owner few;
    if (characters > 0) few = detail::Meter::make(*folded_, int64_t{1} << 20);
    Allocator& memory = bounds ? *bounds->meter() : few ? *few : *folded_;
    detail::FoldingContext context(memory, bounds ? &*bounds : nullptr);
    out = op::evaluate(n.op, context, in, n.outputs.size());
    return true;
  };
  const auto left_to_run = [](const std::exception&) { return false; };
  const auto with_memory = [&] { return detail::attempt<std::bad_alloc>(compute, left_to_run); };
  if (!detail::attempt<Error>(with_memory, left_to_run)) return false;
  for (std::size_t k = 0; k < out.size(); ++k)
    if (!out[k] && used(n.outputs[k])) return false;
  for (std::size_t k = 0; k < out.size(); ++k) set_constant(n.outputs[k], std::move(out[k]));
  return true;
}

inline void Program::fold_all(std::span<const Pass> passes) {
  for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
    check_time(node(n));
    if (!fold(node(n), passes)) continue;
    edit_->changed = true;  // a node without operands may have had no memory before
    edit_->removed.push_back(std::exchange(at(n).op, {}));
    for_each_operand(node(n), [&](ValueId v) { unlink(v, n); });
    for (ValueId v : node(n).outputs) {
      uses(v).maker = -1;
      for (int reader : std::vector<int>(readers(v).begin(), readers(v).end())) update(reader);
    }
  }
  tidy();
}

inline void Program::set_constant(ValueId v, Value constant) {
  constant_bytes_ += content_bytes(constant);
  value(v).constant = std::move(constant);
  if (edit_ && entry(v).constant) edit_->infos[static_cast<std::size_t>(v)] = op::info_of(entry(v).constant);
}

inline void Program::settle() const {
  for (const Node& n : nodes_) {
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (n.inputs[k] >= 0 && !(k == 0 && n.op.spec().memory == op::Memory::moved)) constant(n.inputs[k]);
    for (ValueId v : n.captures) constant(v);
  }
  for (ValueId v : outputs_) constant(v);
}

}  // namespace tenon::TENON_ABI

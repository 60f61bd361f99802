// Function bodies of program.hpp: passes and their edits.
#pragma once

#include <numeric>
#include <set>

#include "tenon/base/platform/exceptions.hpp"
#include "tenon/graph/program.hpp"

namespace tenon::TENON_ABI {

inline void Program::name_extents(ValueId v, op::Info& i) const {
  constexpr int64_t first = int64_t{1} << 30;  // graphs have fewer names
  if (!edit_->names_extents || i.type.kind != Kind::tensor || !i.dims.ranked() || v >= first / max_rank)
    return;
  for (int k = 0; k < i.dims.rank(); ++k)
    if (!i.dims[k].known() && !i.dims[k].symbolic())
      i.dims[k] = Dim::symbol(static_cast<int32_t>(first + int64_t{v} * max_rank + k));
}

inline std::vector<ValueId> Program::add_node(int of, AnyOperator op, std::vector<ValueId> inputs,
                                              int results) {
  Node n{node(of).name, standing_for(of, std::move(op)), std::move(inputs), {}, {}};
  n.captures = detail::outer_values(n.op);
  for (int k = 0; k < results; ++k) n.outputs.push_back(add_value({}));
  const std::vector<ValueId> outputs = n.outputs;
  if (fold_ && fold(n)) return outputs;
  edit_->changed = true;
  nodes_.push_back(std::move(n));
  link(static_cast<int>(nodes_.size()) - 1);
  update(static_cast<int>(nodes_.size()) - 1);
  return outputs;
}

inline void Program::replace(int number, AnyOperator op, std::vector<ValueId> inputs, int of) {
  Node& n = at(number);
  op = standing_for(of < 0 ? number : of, std::move(op));
  if (of >= 0) n.name = node(of).name;
  edit_->changed = true;
  for (ValueId v : n.outputs) edit_->copied.erase(v);
  std::vector<ValueId> left;
  for_each_operand(n, [&](ValueId v) { left.push_back(v); });
  edit_->removed.push_back(std::exchange(n.op, std::move(op)));
  n.inputs = std::move(inputs);
  n.captures = detail::outer_values(n.op);
  for_each_operand(n, [&](ValueId v) { uses(v).readers.push_back(number); });
  for (ValueId v : left) unlink(v, number);
  update(number);
  remove_unread(std::move(left));
}

inline void Program::redirect(int reader, ValueId from, ValueId to) {
  if (from == to || std::ranges::count(node(reader).inputs, from) == 0) return;
  for (ValueId& v : at(reader).inputs)
    if (v == from) {
      unlink(from, reader);
      v = to;
      uses(to).readers.push_back(reader);
    }
  if (info(from) != info(to)) update(reader);
  remove_unread({from});
}

inline void Program::redirect(ValueId from, ValueId to) {
  for (ValueId& v : outputs_)
    if (v == from) v = to, --uses(from).outputs, ++uses(to).outputs, edit_->changed = true;
  for (int n : std::vector<int>(readers(from).begin(), readers(from).end()))
    if (n != maker(to)) redirect(n, from, to);
  remove_unread({from});
}

inline ValueId Program::add_given(std::string name, op::Info info) {
  const ValueId v = add_value(std::move(name));
  edit_->infos[static_cast<std::size_t>(v)] = info;
  given_.push_back({v, -1, std::move(info)});
  return v;
}

inline void Program::set_output(std::size_t k, ValueId to) {
  const ValueId from = outputs_[k];
  outputs_[k] = to;  // `requested` stay values of the graph
  --uses(from).outputs, ++uses(to).outputs;
  edit_->changed = true;
  remove_unread({from});
}

inline void Program::rewrite(const ProgramOptions& options) {
  edit_->options = &options;
  index();
  for (std::size_t k = 0; k < options.passes.size(); ++k) {
    const Pass& pass = options.passes[k];
    edit_->pass = pass.name;
    pass.apply(*this);
    if ((tidy() || pass.keeps != nullptr) && fold_) fold_all(options.passes.subspan(k + 1));
  }
}

inline void Program::index() {
  for (Uses& u : edit_->uses) u.maker = -1, u.outputs = 0, u.readers.clear();
  for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) link(n);
  for (ValueId v : outputs_) ++uses(v).outputs;
}

inline void Program::link(int n) {
  for (ValueId v : node(n).outputs) uses(v).maker = n;
  for_each_operand(node(n), [&](ValueId v) { uses(v).readers.push_back(n); });
}

inline void Program::unlink(ValueId v, int reader) {
  edit_->changed = true;
  edit_->left.push_back(v);
  std::vector<int>& readers = uses(v).readers;
  readers.erase(std::ranges::find(readers, reader));
}

inline void Program::drop_unread() {
  for (ValueId v : edit_->left)
    if (unread(v) && stored(v)) value(v).constant = {}, edit_->infos[static_cast<std::size_t>(v)] = {};
  edit_->left.clear();
  edit_->removed.clear();
}

inline void Program::remove_unread(std::vector<ValueId> values) {
  while (!values.empty()) {
    const int n = maker(values.back());
    values.pop_back();
    if (n < 0 || !node(n).op || !std::ranges::all_of(node(n).outputs, [&](ValueId v) { return unread(v); }))
      continue;
    edit_->removed.push_back(std::exchange(at(n).op, {}));
    for_each_operand(node(n), [&](ValueId v) {
      unlink(v, n);
      values.push_back(v);
    });
  }
}

inline ValueId Program::add_value(std::string name) {
  values_.push_back({std::move(name), {}, true});
  if (edit_) {
    edit_->infos.emplace_back();
    edit_->uses.emplace_back();
  }
  return static_cast<ValueId>(values_.size()) - 1;
}

inline std::vector<op::Info> Program::inferred(const AnyOperator& op, const Node& n) const {
  std::vector<op::Info> in, out(n.outputs.size());
  for (ValueId v : n.inputs) in.push_back(v < 0 ? op::Info{} : info(v));
  const bool fits =
      detail::attempt<Error>([&] { return op.infer(in, out).empty(); }, [](const Error&) { return false; });
  if (!fits) out.assign(out.size(), {});
  for (op::Info& i : out) i.data = nullptr;
  return out;
}

inline bool Program::infer(int n) {
  std::vector<op::Info> out = inferred(node(n).op, node(n));
  bool changed = false;
  for (std::size_t k = 0; k < out.size(); ++k) {
    name_extents(node(n).outputs[k], out[k]);
    op::Info& i = edit_->infos[static_cast<std::size_t>(node(n).outputs[k])];
    changed |= i != out[k];
    i = out[k];
  }
  return changed;
}

inline void Program::update(int number) {
  std::set<int> pending{number};
  while (!pending.empty()) {
    const int n = pending.extract(pending.begin()).value();
    if (!node(n).op || !infer(n)) continue;
    for (ValueId v : node(n).outputs) pending.insert(readers(v).begin(), readers(v).end());
  }
}

inline bool Program::tidy() {
  if (!std::exchange(edit_->changed, false)) return false;
  enum : char { unneeded, needed, open, done };
  std::vector<char> state(nodes_.size(), unneeded);
  std::vector<int> stack;
  const auto push_maker = [&](ValueId v) {
    if (const int n = maker(v); n >= 0 && state[static_cast<std::size_t>(n)] != done) stack.push_back(n);
  };
  for (ValueId v : outputs_) push_maker(v);
  while (!stack.empty()) {
    const int n = stack.back();
    stack.pop_back();
    if (std::exchange(state[static_cast<std::size_t>(n)], needed) == unneeded)
      for_each_operand(node(n), push_maker);
  }
  std::deque<Node> ordered;
  for (int first = 0; first < static_cast<int>(nodes_.size()); ++first) {
    if (state[static_cast<std::size_t>(first)] == needed) stack.push_back(first);
    while (!stack.empty()) {
      const int n = stack.back();
      char& s = state[static_cast<std::size_t>(n)];
      if (s == needed) {
        s = open;
        for_each_operand(node(n), [&](ValueId v) {
          if (const int m = maker(v); m >= 0 && state[static_cast<std::size_t>(m)] == open)
            raise(ErrorCode::invalid_model, edit_->pass, label(m), " depends on itself");
          push_maker(v);
        });
        continue;
      }
      stack.pop_back();
      if (std::exchange(s, done) == open) ordered.push_back(std::move(at(n)));
    }
  }
  nodes_ = std::move(ordered);
  index();
  edit_->left.resize(values_.size());
  std::iota(edit_->left.begin(), edit_->left.end(), 0);
  drop_unread();
  return true;
}

}  // namespace tenon::TENON_ABI

// Function bodies of frame.hpp: the steps of a run.
#pragma once

#include "tenon/base/platform/exceptions.hpp"
#include "tenon/graph/frame.hpp"
#include "tenon/graph/text.hpp"

namespace tenon::TENON_ABI::detail {

inline void Frame::run(std::span<const Value* const> inputs, const op::Context* outer,
                       std::span<Value> outputs, Profile* profile, Budget* budget, const RunState& state) {
  const Bounded bounded(*this, budget, plan_.arena_bytes);
  state_ = state;
  const std::exception_ptr failure = caught([&] {
    bind(inputs, outer, outputs);
    run_bound(outputs, profile);
  });
  unbind();
  state_ = {};
  if (failure) {
    std::ranges::fill(outputs, Value());
    std::rethrow_exception(failure);
  }
}

inline void Frame::run_bound(std::span<Value> outputs, Profile* profile) {
  for (std::size_t o = 0; o < outputs.size(); ++o)
    if (entry(program_.outputs()[o]).place == Place::run_time) keep(std::exchange(outputs[o], Value()));
  Budget* const budget = budget_;
  std::size_t s = 0;
  const auto steps = [&] {
    if (profile == nullptr) {
      for (; s < steps_.size(); ++s) {
        if (budget != nullptr) budget->check();
        execute(steps_[s]);
      }
    } else {
      const auto begin = std::chrono::steady_clock::now();
      for (; s < steps_.size(); ++s) {
        if (budget != nullptr) budget->check();
        const auto start = std::chrono::steady_clock::now();
        execute(steps_[s]);
        const auto stop = std::chrono::steady_clock::now();
        const Graph::Node& n = *steps_[s].node;
        const std::chrono::duration<double, std::micro> since = start - begin, took = stop - start;
        profile->entries.push_back({n.name, std::string(n.op.spec().name), since.count(), took.count()});
      }
    }
  };
  const auto named = [&] { attempt<Error>(steps, [&](const Error& e) { raise_at(steps_[s], e); }); };
  if (const std::exception_ptr failure = caught(named)) {
    release();
    std::rethrow_exception(failure);
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const ValueId id = program_.outputs()[o];
    if (entry(id).place != Place::output && entry(id).place != Place::fixed) outputs[o] = owned(at(id));
  }
  release();
}

inline void Frame::add_step(int s) {
  const Action action = plan_.actions[static_cast<std::size_t>(s)];
  if (action == Action::skip) return;
  const Graph::Node& n = program_.nodes()[static_cast<std::size_t>(s)];
  steps_.push_back({action, &n, n.op.call(), {}, {}, {}});
  if (action == Action::rename) renamed_.push_back(n.outputs[0]);
  if (action == Action::infer || action == Action::fresh)
    made_.insert(made_.end(), n.outputs.begin(), n.outputs.end());
  for (ValueId v : n.inputs) in_.push_back(v < 0 ? nullptr : &at(v));
  for (ValueId v : n.outputs) out_.push_back(entry(v).place == Place::none ? nullptr : &at(v));
  counts_.push_back({n.inputs.size(), n.outputs.size(), 0});
  auto dies = [&](ValueId v) {
    if (v >= 0 && entry(v).place == Place::run_time && entry(v).last <= s)
      dying_.push_back(v), ++counts_.back()[2];
  };
  for (ValueId v : n.inputs) dies(v);
  for (ValueId v : n.captures) dies(v);
  infer_in_.resize(std::max(infer_in_.size(), n.inputs.size()));
  infer_out_.resize(std::max(infer_out_.size(), n.outputs.size()));
}

inline void Frame::link() {
  std::size_t i = 0, o = 0, d = 0;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const auto [in, out, dying] = counts_[s];
    steps_[s].in = std::span(in_).subspan(i, in);
    steps_[s].out = std::span(out_).subspan(o, out);
    steps_[s].dying = std::span(dying_).subspan(d, dying);
    i += in, o += out, d += dying;
  }
  is_output_ = program_.outputs();
}

inline void Frame::execute(const Step& s) {
  if (s.action == Action::compute && meter() == nullptr) s.call(*this, s.in, s.out);
  else perform_counted(s);
  for (ValueId v : s.dying) drop(v);
}

inline void Frame::perform(const Step& s) {
  switch (s.action) {
    case Action::compute: compute(s); break;
    case Action::check: check(s); break;
    case Action::rename: {
      const ValueId v = s.node->outputs[0];
      at(v) = s.in[0]->tensor().reshaped(entry(v).info.dims.extents());
      break;
    }
    case Action::infer: infer(s); break;
    case Action::fresh: fresh(s); break;
    case Action::skip: break;
  }
}

inline void Frame::compute(const Step& s) {
  if (meter() != nullptr) admit_text(s);
  s.call(*this, s.in, s.out);
}

inline void Frame::ask(const Step& s) {
  for (std::size_t k = 0; k < s.in.size(); ++k) infer_in_[k] = s.in[k] ? op::info_of(*s.in[k]) : op::Info{};
  for (std::size_t k = 0; k < s.out.size(); ++k) infer_out_[k] = op::Info{};
  const std::span<const op::Info> in(infer_in_.data(), s.in.size());
  const op::Message m = s.node->op.infer(in, {infer_out_.data(), s.out.size()});
  if (m.empty()) return;
  refused_ = true;
  op::raise_rule(s.node->op.spec(), in, m, s.node->op.version());
}

inline void Frame::check(const Step& s) {
  ask(s);
  for (std::size_t k = 0; k < s.out.size(); ++k)
    if (s.out[k] != nullptr && !entry(s.node->outputs[k]).info.dims.fits(infer_out_[k].dims))
      raise(ErrorCode::invalid_model, s.node->op.spec().name, "result ", k,
            " has other extents than its rule said before");
  compute(s);
}

inline void Frame::infer(const Step& s) {
  const Graph::Node& n = *s.node;
  ask(s);
  const std::span<const op::Info> out(infer_out_.data(), s.out.size());
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (s.out[k] == nullptr) continue;
    const Extents extents = op::known_extents(n.op.spec(), out[k]);
    const Storage* memory = nullptr;
    if (!state_.lent.empty()) {
      const auto output = std::ranges::find(is_output_, n.outputs[k]) - is_output_.begin();
      memory =
          lent(static_cast<std::size_t>(output), packed_bytes(element_count(extents), out[k].type.element));
    }
    *s.out[k] = memory != nullptr ? AnyTensor(out[k].type.element, extents, *memory)
                                  : spare_.allocate(out[k].type.element, extents, allocator());
    check_planned(n, k, *s.out[k]);
  }
  compute(s);
}

inline void Frame::check_planned(const Graph::Node& n, std::size_t k, const Value& v) const {
  op::check_result(n.op.spec(), k, entry(n.outputs[k]).info, v);
}

inline void Frame::fresh(const Step& s) {
  const Graph::Node& n = *s.node;
  compute(s);
  for (std::size_t k = 0; k < s.out.size(); ++k) {
    if (s.out[k] == nullptr) continue;
    if (!*s.out[k] && program_.used(n.outputs[k]))
      raise(ErrorCode::invalid_model, n.op.spec().name, "result ", k, " was not given a value");
    *s.out[k] = owned(*s.out[k]);
    if (*s.out[k]) check_planned(n, k, *s.out[k]);
  }
}

inline void Frame::admit_text(const Step& s) const {
  int64_t most = 0, strings = 0;
  for (std::size_t k = 0; k < s.out.size(); ++k) {
    const Value* const v = s.out[k];
    if (v == nullptr || entry(s.node->outputs[k]).info.type != Type(DType::string)) continue;
    if (s.action != Action::fresh) {
      strings += v->tensor().size();
      continue;
    }
    for (const Value* x : s.in)  // may hold one tensor many times
      if (x != nullptr && x->is_sequence()) most += text_bytes(*x);
  }
  if (strings > 0) most = most_text(s.node->op, s.in, strings);
  if (most > meter()->left())
    raise(ErrorCode::limit, {}, "strings of up to ", most, " bytes, and ", meter()->left(),
          " are left of the bound of ", meter()->bound());
}

inline void Frame::count_text(const Step& s, Meter& meter) {
  for (std::size_t k = 0; k < s.out.size(); ++k) {
    if (s.out[k] == nullptr || entry(s.node->outputs[k]).root != s.node->outputs[k]) continue;
    const int64_t bytes = text_bytes(*s.out[k]);
    if (bytes == 0) continue;
    meter.take(bytes);
    reserved_ += bytes;
    texts_[s.node->outputs[k]] = bytes;
  }
}

inline void Frame::forget_text(ValueId v) {
  const auto it = texts_.find(v);
  if (it == texts_.end()) return;
  meter()->give(it->second);
  reserved_ -= it->second;
  texts_.erase(it);
}

inline void Frame::clear_text() {
  for (const auto& [v, bytes] : texts_) {
    if (entry(v).place != Place::own) continue;
    for (std::string& text : at(v).tensor().out().as<std::string>()) std::string().swap(text);
  }
  texts_.clear();
}

inline void Frame::raise_at(const Step& s, const Error& e) {
  const auto known = [&](ValueId v) {
    op::Info i = entry(v).info;
    if (at(v).is_tensor() && entry(v).place == Place::run_time) i = op::info_of(at(v)), i.data = nullptr;
    for (const auto& [gone, extents] : dropped_)
      if (gone == v) i.dims = extents;
    for (std::size_t k = 0; k < s.in.size(); ++k)
      if (s.node->inputs[k] == v) i = infer_in_[k];
    return i;
  };
  if (std::exchange(refused_, false)) raise_refusal(program_, known);
  rethrow_at(*s.node, e);
}

inline void Frame::release() {
  for (ValueId v : renamed_) at(v) = Value();
  for (ValueId v : made_)
    if (at(v)) release_run_time(v);
  dropped_.clear();
  spare_.end_run();
}

inline void Frame::release_run_time(ValueId v) {
  if (std::find(is_output_.begin(), is_output_.end(), v) != is_output_.end()) at(v) = Value();
  else drop(v);
}

}  // namespace tenon::TENON_ABI::detail

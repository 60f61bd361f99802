// A language model with what earlier steps have computed.
#pragma once

#include <cstring>
#include <numeric>

#include "tenon/base/platform/exceptions.hpp"
#include "tenon/generate/generator.hpp"
#include "tenon/generate/parts_finder.hpp"
#include "tenon/graph/state_decl.hpp"
#include "tenon/op/families/copy_along.hpp"

namespace tenon::TENON_ABI::detail {

/// The numbers number(k) in the type that an input declares.
template <class F>
Value numbers_for(const Graph::ValueEntry& input, const Extents& extents, F number) {
  const Type type = input.info.type;
  const auto write = [&]<class T>(std::type_identity<T>) -> Value {
    Tensor<T> t = Tensor<T>::uninitialized(extents);
    for (int64_t k = 0; k < t.size(); ++k) t[k] = static_cast<T>(number(k));
    return t;
  };
  if (type == Type(DType::int32)) return write(std::type_identity<int32_t>());
  if (type == Type(DType::bool_)) return write(std::type_identity<bool>());
  if (type == Type(DType::float32)) return write(std::type_identity<float>());
  if (type == Type(DType::int64)) return write(std::type_identity<int64_t>());
  raise(ErrorCode::not_supported, str_cat(generator_place, ": input '", input.name, "'"), to_string(type),
        " declared; the generator has int64, int32, bool and float for it");
}

/// Whether the encoder itself returns these keys or values of its states.
inline bool makes_cross(const LanguageModel& encoder, const Cache& c) {
  return c.cross && encoder.session != nullptr && has_output(encoder.session->graph(), c.present);
}

/// The caller's options for a run whose results are the generator's matter.
inline RunOptions plain_run(const RunOptions& options) {
  RunOptions plain = options;
  plain.outputs.clear();
  plain.profile = nullptr, plain.state = nullptr, plain.last = {};
  return plain;
}

/// A session, its parts, and the values of its inputs.
class ModelRunner {
 public:
  /// The model's names and the inputs must outlive the runner.
  ModelRunner(const LanguageModel& model, std::span<const NamedValue> inputs)
      : session_(*model.session), parts_(model.parts), given_(inputs) {
    for (const auto& [name, value] : given_)
      if (find_input(graph(), name) != nullptr) feed(name) = value;
  }

  [[nodiscard]] const Graph& graph() const { return session_.graph(); }
  [[nodiscard]] const ModelParts& parts() const { return parts_; }
  /// The declaration of an input that the model has.
  [[nodiscard]] const Graph::ValueEntry& declared(const std::string& name) const {
    return *find_input(graph(), name);
  }

  /// The value of an input, to be set. `name` must outlive the runner.
  Value& feed(const std::string& name) {
    for (auto& [known, value] : feeds_)
      if (known == name) return value;
    return feeds_.emplace_back(name, Value()).second;
  }
  /// Runs feed the input no more: their state gives it.
  void leave_to_state(const std::string& name) {
    std::erase_if(feeds_, [&](const auto& f) { return f.first == name; });
  }
  [[nodiscard]] bool is_given(const std::string& name) const {
    return std::ranges::any_of(given_, [&](const NamedValue& v) { return v.first == name; });
  }
  /// Feeds numbers, unless the model lacks the input or the caller gave another value.
  template <class F>
  void feed_numbers(const std::string& name, const Extents& extents, F number) {
    if (!name.empty() && !is_given(name)) feed(name) = numbers_for(declared(name), extents, number);
  }
  /// The same for an input of one element, with the rank that it declares.
  void feed_number(const std::string& name, int64_t number) {
    if (name.empty()) return;
    const Dims& dims = declared(name).info.dims;
    const bool scalar = dims.ranked() && dims.rank() == 0;
    feed_numbers(name, scalar ? Extents{} : Extents{1}, [&](int64_t) { return number; });
  }

  /// Runs the session; the outputs are the runner's.
  Outputs& run(const RunOptions& options) {
    attempt<Error>(
        [&] { session_.run(feeds_, outputs_, options); },
        [](const Error& e) { raise(e.code(), str_cat(generator_place, ": ", e.where()), e.message()); });
    return outputs_;
  }

 private:
  const Session& session_;
  const ModelParts& parts_;
  std::span<const NamedValue> given_;
  Feeds feeds_;
  Outputs outputs_;
};

/// A model in the course of a generation: the tokens that it has read, and its caches.
class CachedModel {
 public:
  /// `first` makes the first step if it has a session.
  CachedModel(const LanguageModel& model, const LanguageModel& first, int64_t batch,
              std::span<const NamedValue> inputs, DType cache_type)
      : later_(model, inputs), batch_(batch), tokens_(size(batch)), counted_(size(batch)) {
    if (first.session != nullptr) first_.emplace(first, inputs);
    for (const Cache& c : later_.parts().caches) {
      const bool lasts = c.cross && later_.is_given(c.past) && !has_output(later_.graph(), c.present);
      if (!lasts) caches_.push_back(start(c));  // others are inputs of each run
    }
    StateOptions options;
    options.cache_type = cache_type;
    for (const Past& c : caches_) options.pairs.push_back({*c.past, *c.present, c.axis, c.cross});
    if (!caches_.empty()) state_.emplace(std::move(options));
  }

  /// The number of steps read so far, padding included.
  [[nodiscard]] int64_t held() const { return static_cast<int64_t>(tokens_[0].size()); }

  /// Reads `steps` tokens of each text: tokens[b * steps + k], which counts[b * steps + k] tells to be no
  /// padding. Returns the logits of the last `wanted` steps, or of more, valid until the next run. After an
  /// Error the model is as before.
  const AnyTensor& run(std::span<const int> tokens, std::span<const char> counts, int64_t wanted,
                       const RunOptions& options) {
    const int64_t steps = static_cast<int64_t>(tokens.size()) / batch_, before = held();
    if (before > 0) first_.reset();  // with the prompts' logits
    ModelRunner& runner = first_ ? *first_ : later_;
    RunOptions plain = plain_run(options);
    plain.state = state_ ? &*state_ : nullptr;
    plain.last = LastSteps(runner.parts().logits, wanted);
    const AnyTensor* logits = nullptr;
    const std::exception_ptr failure = caught([&] {
      for (int64_t b = 0; b < batch_; ++b) {
        const auto at = static_cast<std::ptrdiff_t>(b * steps);
        tokens_[size(b)].insert(tokens_[size(b)].end(), tokens.begin() + at, tokens.begin() + at + steps);
        counted_[size(b)].insert(counted_[size(b)].end(), counts.begin() + at, counts.begin() + at + steps);
      }
      feed(runner, caches_.empty() ? 0 : before, wanted);
      Outputs& outputs = runner.run(plain);
      logits = &outputs[runner.parts().logits].tensor();
      for (const Past& c : caches_) later_.leave_to_state(*c.past);
    });
    if (failure) {
      forget(before);
      std::rethrow_exception(failure);
    }
    return *logits;
  }

  /// Forgets all but the first `held` steps of one text.
  void truncate(int64_t held) {
    if (held >= this->held()) return;
    if (state_) {
      if (const std::string* const past = state_->past_without(this->held()))
        raise(ErrorCode::not_supported, str_cat(generator_place, ": input '", *past, "'"),
              "the cache does not have a step for each token, so drafted tokens cannot be taken out of it");
      state_->truncate(held);
    }
    forget(held);
  }

 private:
  struct Past {
    const std::string* past;
    const std::string* present;
    int axis;  // of the steps; -1: none
    bool cross;
  };

  static std::size_t size(int64_t n) { return static_cast<std::size_t>(n); }

  void forget(int64_t held) {
    for (auto& t : tokens_) t.resize(size(held));
    for (auto& c : counted_) c.resize(size(held));
  }

  // Finds the steps' axis of a cache and gives it no steps.
  Past start(const Cache& c) {
    const Graph::ValueEntry& e = later_.declared(c.past);
    const Dims& dims = e.info.dims;
    const Dims& tokens = later_.declared(later_.parts().tokens).info.dims;
    const auto refuse = [&](std::string_view why) {
      raise(ErrorCode::not_supported, str_cat(generator_place, ": input '", c.past, "'"), why);
    };
    if (!dims.ranked() || e.info.type.kind != Kind::tensor) refuse("the model does not declare its extents");
    std::vector<int> open;
    int batch = -1;
    for (int k = 0; k < dims.rank(); ++k) {
      if (dims[k].known()) continue;
      if (batch < 0 && tokens.ranked() && tokens.rank() > 0 && tokens[0].same(dims[k])) batch = k;
      else open.push_back(k);
    }
    if (batch < 0 && !open.empty() && (open.size() > 1 || open[0] == 0)) {
      batch = open[0];
      open.erase(open.begin());
    }
    if (open.size() > 1)
      refuse(
          "more of its extents than those of the batch and the past are open, so that the past of the first "
          "step is not known");
    Past s{&c.past, &c.present, open.empty() ? -1 : open[0], c.cross};
    Extents extents;
    for (int k = 0; k < dims.rank(); ++k)
      extents.push_back(k == batch ? batch_ : k == s.axis ? first_extent(c) : dims[k].value());
    if (!later_.is_given(c.past)) later_.feed(c.past) = op::zeros(e.info.type.element, extents);
    return s;
  }
  // A cache of a window has rows before there are steps. A model may declare that the caches of the encoder
  // have as many steps as its states.
  int64_t first_extent(const Cache& c) {
    const std::string& states = later_.parts().encoder_states;
    const ValueId past = later_.graph().find(c.past);
    for (const GraphNode& n : later_.graph().nodes())
      for (const op::Update& u : n.op.spec().updates)
        if (const auto in = size(u.input);
            in < n.inputs.size() && n.inputs[in] == past && n.op.least_rows() > 0)
          return n.op.least_rows();
    if (!c.cross || states.empty() || !later_.is_given(states)) return 0;
    const AnyTensor& t = later_.feed(states).tensor();
    return t.rank() > 1 ? t.extents()[1] : 0;
  }

  void feed(ModelRunner& runner, int64_t past, int64_t wanted) {
    const ModelParts& parts = runner.parts();
    const int64_t all = held(), steps = all - past;
    const auto row = [](int64_t k, int64_t in_row) { return size(k / in_row); };
    runner.feed_numbers(parts.tokens, {batch_, steps},
                        [&](int64_t k) { return tokens_[row(k, steps)][size(past + k % steps)]; });
    runner.feed_numbers(parts.mask, {batch_, all},
                        [&](int64_t k) { return counted_[row(k, all)][size(k % all)]; });
    int64_t position = 0;
    runner.feed_numbers(parts.positions, {batch_, steps}, [&](int64_t k) {
      const std::vector<char>& counted = counted_[row(k, steps)];
      if (k % steps == 0)
        position =
            std::accumulate(counted.begin(), counted.begin() + static_cast<std::ptrdiff_t>(past), int64_t{0});
      return counted[size(past + k % steps)] != 0 ? position++ : 0;
    });
    runner.feed_numbers(parts.places, {steps}, [&](int64_t k) { return past + k; });
    runner.feed_number(parts.use_cache, past > 0);
    runner.feed_number(parts.logits_to_keep, wanted);
  }

  ModelRunner later_;
  std::optional<ModelRunner> first_;
  int64_t batch_;
  std::vector<Past> caches_;
  std::optional<State> state_;
  std::vector<std::vector<int>> tokens_;
  std::vector<std::vector<char>> counted_;
};

}  // namespace tenon::TENON_ABI::detail

// Sampler: the next token from logits. Generator uses it; programs with a loop of their own may, too.
#pragma once

#include <algorithm>
#include <cmath>

#include "tenon/base/platform/overflow.hpp"
#include "tenon/generate/options.hpp"
#include "tenon/kernels/random.hpp"

namespace tenon::TENON_ABI {

/// The distinct tokens of a text that grows.
class SeenTokens {
 public:
  /// `tokens` continues what earlier calls were given.
  void update(std::span<const int> tokens, std::size_t vocabulary) {
    seen_.resize(std::max(seen_.size(), vocabulary));
    for (; read_ < tokens.size(); ++read_) {
      const auto token = static_cast<std::size_t>(tokens[read_]);
      if (token >= seen_.size() || seen_[token]) continue;
      seen_[token] = true;
      distinct_.push_back(tokens[read_]);
    }
  }
  [[nodiscard]] std::span<const int> distinct() const { return distinct_; }

 private:
  std::vector<bool> seen_;
  std::vector<int> distinct_;
  std::size_t read_ = 0;
};

/// Chooses tokens as GenerateOptions say. Probabilities are computed as multiples of 2^-32 of the greatest
/// one and added as integers, so that equal logits give equal tokens with every compiler and standard
/// library. Time is linear in the vocabulary, except that top_p sorts as many tokens as it keeps. Nothing is
/// allocated after the first token. Belongs to one thread at a time.
class Sampler {
 public:
  /// The options must outlive the sampler. Error{invalid_argument} for those that are out of range.
  explicit Sampler(const GenerateOptions& options) : options_(options) {
    const auto expect = [](bool right, std::string_view name) {
      if (!right) raise(ErrorCode::invalid_argument, "generator", name, " is out of range");
    };
    expect(options.temperature >= 0 && options.temperature < infinity, "temperature");
    expect(options.top_k >= 0, "top_k");
    expect(options.top_p >= 0 && options.top_p <= 1, "top_p");
    expect(options.min_p >= 0 && options.min_p <= 1, "min_p");
    expect(options.repetition_penalty > 0 && options.repetition_penalty < infinity, "repetition_penalty");
  }

  /// Applies the repetition penalty. `seen` belongs to the text that `tokens` is.
  void penalise(std::span<float> logits, SeenTokens& seen, std::span<const int> tokens) const {
    const float penalty = options_.repetition_penalty;
    if (penalty == 1) return;
    seen.update(tokens, logits.size());
    for (const int token : seen.distinct()) {
      if (static_cast<std::size_t>(token) >= logits.size()) continue;
      float& x = logits[static_cast<std::size_t>(token)];
      x = x < 0 ? x * penalty : x / penalty;
    }
  }

  /// 64 random bits for a generated token of a prompt.
  [[nodiscard]] uint64_t random(int64_t prompt, int64_t token) const {
    const auto block =
        kernels::Philox(options_.seed)(static_cast<uint64_t>(token), static_cast<uint64_t>(prompt));
    return uint64_t{block[1]} << 32 | block[0];
  }

  /// The token that these random bits choose: greedy, or of the tokens that temperature, top_k, top_p and
  /// min_p leave. Error{invalid_argument} if a logit is not a number, or all are -inf.
  [[nodiscard]] int choose(std::span<const float> logits, uint64_t random) {
    const std::size_t best = greatest(logits);
    const float most = logits[best];
    if (options_.temperature == 0 || options_.top_k == 1 || most == infinity) return static_cast<int>(best);
    collect(logits, most);
    if (options_.top_k > 0) keep_k();
    uint64_t total = 0;
    for (Candidate& c : candidates_) total += c.weight = weight(c.logit, most);
    const std::size_t kept = options_.top_p < 1 ? keep_p(total) : candidates_.size();
    return draw({candidates_.data(), kept}, random);
  }

 private:
  struct Candidate {
    float logit;
    int token;
    uint64_t weight;
  };
  static constexpr float infinity = std::numeric_limits<float>::infinity();
  static constexpr double one = 0x1p32;  // the greatest weight

  static bool precedes(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  }

  static std::size_t greatest(std::span<const float> logits) {
    std::size_t best = 0;
    bool numbers = true;
    for (std::size_t k = 0; k < logits.size(); ++k) {
      numbers = numbers && logits[k] == logits[k];
      if (logits[k] > logits[best]) best = k;
    }
    if (!numbers) raise(ErrorCode::invalid_argument, "generator", "a logit is not a number");
    if (logits.empty() || logits[best] == -infinity)
      raise(ErrorCode::invalid_argument, "generator", "no token is left to choose");
    return best;
  }

  uint64_t weight(float logit, float most) const {
    const double scaled = (static_cast<double>(logit) - most) / options_.temperature;
    return static_cast<uint64_t>(std::exp(scaled) * one + 0.5);
  }

  // Tokens whose weight may be more than 0, in their order.
  void collect(std::span<const float> logits, float most) {
    candidates_.clear();
    candidates_.reserve(logits.size());
    const double least = most - 23.0 * options_.temperature;  // exp(-23) * 2^32 < 0.5
    for (std::size_t k = 0; k < logits.size(); ++k)
      if (logits[k] >= least) candidates_.push_back({logits[k], static_cast<int>(k), 0});
  }

  void keep_k() {
    const auto k = static_cast<std::size_t>(options_.top_k);
    if (k >= candidates_.size()) return;
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(k);
    std::nth_element(candidates_.begin(), end, candidates_.end(), precedes);
    candidates_.erase(end, candidates_.end());
    // The standard leaves the order open, on which the choice depends.
    std::sort(candidates_.begin(), candidates_.end(), precedes);
  }

  // Moves the tokens that top_p keeps to the front, and returns their number.
  std::size_t keep_p(uint64_t total) {
    const auto follows = [](const Candidate& a, const Candidate& b) { return precedes(b, a); };
    const double wanted = static_cast<double>(options_.top_p) * static_cast<double>(total);
    std::make_heap(candidates_.begin(), candidates_.end(), follows);
    auto end = candidates_.end();
    uint64_t sum = 0;
    do {
      std::pop_heap(candidates_.begin(), end, follows);
      sum += (--end)->weight;
    } while (static_cast<double>(sum) < wanted && end != candidates_.begin());
    std::reverse(candidates_.begin(), candidates_.end());
    return static_cast<std::size_t>(std::distance(end, candidates_.end()));
  }

  int draw(std::span<const Candidate> kept, uint64_t random) const {
    const double least = static_cast<double>(options_.min_p) * one;
    const auto left_out = [&](const Candidate& c) { return static_cast<double>(c.weight) < least; };
    uint64_t total = 0, low = 0;
    for (const Candidate& c : kept) total += left_out(c) ? 0 : c.weight;
    uint64_t at = detail::multiply_wide(random, total, &low);
    for (const Candidate& c : kept) {
      if (left_out(c)) continue;
      if (at < c.weight) return c.token;
      at -= c.weight;
    }
    detail::unreachable();
  }

  const GenerateOptions& options_;
  std::vector<Candidate> candidates_;
};

}  // namespace tenon::TENON_ABI

// BifurcationDetector: the tokens of a guess that a model confirms.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.BifurcationDetector
#pragma once

#include <algorithm>

#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Decoding that guesses the next tokens to be src_tokens' from prev_suffix_match_idx on. pred_tokens are the
/// model's, one after each guess and one more; tokens are cur_tokens followed by pred_tokens up to the first
/// that differs from its guess, and that one. suffix_match_idx is where src_tokens continues after the only
/// occurrence of the last n tokens, for the greatest n from min_ngram_size to max_ngram_size that occurs, or
/// -1. op::com_microsoft::BifurcationDetector{}(source, current, at, predicted) of (2,5,1,3), (2), (1) and
/// (5,7,3,4) gives (2,5,7) and (-1).
struct BifurcationDetector {
  int64_t max_ngram_size = 3;
  int64_t min_ngram_size = 1;

  static constexpr Spec spec{.name = "BifurcationDetector",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"src_tokens", "T"},
                                        {"cur_tokens", "T"},
                                        {"prev_suffix_match_idx", "T"},
                                        {"pred_tokens", "T", optional}},
                             .outputs = {{"tokens", "T"}, {"suffix_match_idx", "T"}},
                             .types = {{"T", types::int64}}};
  static constexpr Attributes attributes{attr("max_ngram_size", &BifurcationDetector::max_ngram_size),
                                         attr("min_ngram_size", &BifurcationDetector::min_ngram_size)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_at_least("min_ngram_size", min_ngram_size, 1) ||
        !i.expect_at_least("max_ngram_size", max_ngram_size, min_ngram_size) || !i.expect_rank(0, 1) ||
        !i.expect_rank(1, 1) || !i.expect_one(2) || !i.expect_rank(3, 1))
      return;
    i.out(0, Dims::of_rank(1));
    i.out(1, i.dims(2));
  }
  /// Error{out_of_range} where there are not as many predictions as guesses, and one more.
  std::tuple<Tensor<int64_t>, Tensor<int64_t>> compute(Context& c, TensorView<const int64_t> source,
                                                       TensorView<const int64_t> current,
                                                       TensorView<const int64_t> match,
                                                       TensorView<const int64_t> predicted) const {
    const std::span all(source.data(), static_cast<std::size_t>(source.size()));
    int64_t confirmed = 0;
    if (predicted) {
      const int64_t from = match[0];
      if (from < 0 || from > source.size() || predicted.size() != source.size() - from + 1)
        raise(ErrorCode::out_of_range, spec.name, predicted.size(), " predictions do not fit ", source.size(),
              " tokens from ", from, " on");
      while (confirmed < source.size() - from && predicted[confirmed] == source[from + confirmed])
        ++confirmed;
      ++confirmed;
    }
    auto tokens = Tensor<int64_t>::uninitialized({{current.size() + confirmed}}, c.allocator());
    std::copy_n(current.data(), current.size(), tokens.data());
    std::copy_n(predicted.data(), confirmed, tokens.data() + current.size());
    auto suffix = Tensor<int64_t>::uninitialized(match.extents(), c.allocator());
    suffix[0] = continuation(all, {tokens.data(), static_cast<std::size_t>(tokens.size())});
    return {std::move(tokens), std::move(suffix)};
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  int64_t continuation(std::span<const int64_t> source, std::span<const int64_t> tokens) const {
    int64_t found = -1;
    const auto longest = std::min(max_ngram_size, static_cast<int64_t>(tokens.size()));
    for (int64_t n = min_ngram_size; n <= longest; ++n) {
      const auto last = tokens.last(static_cast<std::size_t>(n));
      const auto first = std::ranges::search(source, last);
      if (first.empty()) break;
      found = first.end() - source.begin();
      if (first.end() == source.end()) break;
      if (!std::ranges::search(first.begin() + 1, source.end(), last.begin(), last.end()).empty()) found = -1;
    }
    return found;
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::BifurcationDetector)

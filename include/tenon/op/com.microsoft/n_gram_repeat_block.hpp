// NGramRepeatBlock: scores without the tokens that would repeat a sequence of tokens.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.NGramRepeatBlock
#pragma once

#include <limits>

#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// scores_out is scores (B, vocabulary), with -infinity for each token after which the last ngram_size tokens
/// of an entry of input_ids (B, length) would occur in it a second time.
/// op::com_microsoft::NGramRepeatBlock{.ngram_size = 2}(ids, scores) of ((3,1,3)) and (1,8) forbids token 1.
struct NGramRepeatBlock {
  Opt<int64_t> ngram_size{};

  static constexpr Spec spec{.name = "NGramRepeatBlock",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"input_ids", "Tid"}, {"scores", "T"}},
                             .outputs = {{"scores_out", "T"}},
                             .types = {{"Tid", types::int64}, {"T", types::float32}}};
  static constexpr Attributes attributes{attr("ngram_size", &NGramRepeatBlock::ngram_size).required()};

  constexpr void infer(Infer& i) const {
    if (!i.expect_at_least("ngram_size", ngram_size.value_or(0), 1) || !i.expect_rank(0, 2) ||
        !i.expect_rank(1, 2))
      return;
    Dims y = i.ranked(1) ? i.dims(1) : Dims::of_rank(2);
    if (i.ranked(0)) y[0] = i.unify(i.dims(0)[0], y[0], "entries of input_ids and scores");
    if (!i.failed()) i.out(0, y);
  }
  /// Error{out_of_range} for a token to forbid that has no score.
  void compute(TensorView<const int64_t> input_ids, TensorView<const float> scores,
               TensorView<float> y) const {
    std::copy_n(scores.data(), scores.size(), y.data());
    const int64_t length = input_ids.extent(1), vocabulary = y.extent(1), context = *ngram_size - 1;
    for (int64_t b = 0; b < y.extent(0); ++b) {
      const int64_t *ids = input_ids.data() + b * length, *end = ids + length;
      for (int64_t k = 0; k < length - context; ++k) {
        if (!std::equal(end - context, end, ids + k)) continue;
        const int64_t token = ids[k + context];
        if (token < 0 || token >= vocabulary)
          raise(ErrorCode::out_of_range, spec.name, "token ", token, " outside of [0, ", vocabulary - 1, "]");
        y[b * vocabulary + token] = -std::numeric_limits<float>::infinity();
      }
    }
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::NGramRepeatBlock)

// NGramHashMapping: hashes of the last few tokens at each step.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.NGramHashMapping
#pragma once

#include <type_traits>

#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// For the n last tokens at each step, n from 2 to max_ngram_size, the exclusive or of token * multiplier,
/// the last token having multiplier 0, modulo each of n_head_per_ngram numbers: vocab_sizes has those of n =
/// 2 first. Products wrap. The tokens before the first step are past_ids (batch, max_ngram_size - 1), or
/// pad_id; present_ids are those before the next step. op::com_microsoft::NGramHashMapping{.max_ngram_size =
/// 2, .n_head_per_ngram = 1, .pad_id = 0}(ids, multipliers, sizes) of ((5,6)), (1,3) and (100) gives the
/// hashes (5, 9) of (1,2,1).
struct NGramHashMapping {
  Opt<int64_t> max_ngram_size{};
  Opt<int64_t> n_head_per_ngram{};
  Opt<int64_t> pad_id{};

  static constexpr Spec spec{
      .name = "NGramHashMapping",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"input_ids", "M"}, {"multipliers", "M"}, {"vocab_sizes", "M"}, {"past_ids", "M", optional}},
      .outputs = {{"hash_ids", "M"}, {"present_ids", "M", optional}},
      .types = {{"M", types::indices}}};
  static constexpr Attributes attributes{
      attr("max_ngram_size", &NGramHashMapping::max_ngram_size).required(),
      attr("n_head_per_ngram", &NGramHashMapping::n_head_per_ngram).required(),
      attr("pad_id", &NGramHashMapping::pad_id).required()};

  constexpr void infer(Infer& i) const {
    const int64_t most = max_ngram_size.value_or(0), each = n_head_per_ngram.value_or(0);
    if (!i.expect_at_least("max_ngram_size", most, 2) || !i.expect_at_least("n_head_per_ngram", each, 1))
      return;
    if (i.dtype(0) == DType::int32 && *pad_id != static_cast<int32_t>(*pad_id))
      return i.fail("pad_id ", *pad_id, " is no int32");
    const Dim numbers = Dim(most - 1) * Dim(each);
    if (!i.expect_rank(0, 2) || !i.expect_extents(1, {most}) || !i.expect_extents(2, {numbers})) return;
    const Dims ids = i.ranked(0) ? i.dims(0) : Dims::of_rank(2);
    if (!i.expect_extents(3, {ids[0], most - 1})) return;
    i.out(0, {ids[0], ids[1], numbers});
    i.out(1, {ids[0], most - 1});
  }
  /// Error{out_of_range} for a vocabulary without tokens.
  template <class M>
  void compute(TensorView<const M> input_ids, TensorView<const M> multipliers,
               TensorView<const M> vocab_sizes, TensorView<const M> past_ids, TensorView<M> hash_ids,
               TensorView<M> present_ids) const {
    for (int64_t k = 0; k < vocab_sizes.size(); ++k)
      if (vocab_sizes[k] <= 0)
        raise(ErrorCode::out_of_range, spec.name, "vocab_sizes: ", vocab_sizes[k], " at ", k,
              ", expected at least 1");
    const int64_t batch = input_ids.extent(0), steps = input_ids.extent(1), before = *max_ngram_size - 1;
    // The token at a step, which is negative before the first one.
    const auto token = [&](int64_t entry, int64_t step) {
      if (step >= 0) return input_ids[entry * steps + step];
      return past_ids ? past_ids[entry * before + before + step] : static_cast<M>(*pad_id);
    };
    int64_t to = 0;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t s = 0; s < steps; ++s) {
        using Bits = std::make_unsigned_t<M>;
        const auto product = [&](int64_t back) {
          return static_cast<Bits>(token(b, s - back)) * static_cast<Bits>(multipliers[back]);
        };
        Bits mix = product(0);
        for (int64_t n = 0; n < before; ++n) {
          mix ^= product(n + 1);
          for (int64_t k = 0; k < *n_head_per_ngram; ++k) {
            const M size = vocab_sizes[n * *n_head_per_ngram + k], rest = static_cast<M>(mix) % size;
            hash_ids[to++] = rest < 0 ? rest + size : rest;
          }
        }
      }
    if (!present_ids) return;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t k = 0; k < before; ++k) present_ids[b * before + k] = token(b, steps - before + k);
  }
  template <class L>
  void loops(L& l) const {
    l.over({{0, 0}, {3, 0}}, {{0, 0}, {1, 0}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::NGramHashMapping)

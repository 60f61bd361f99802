// Derivatives of attention and of rotated positions, from the formulas of the operators.
#pragma once

#include <limits>

#include "tenon/graph/gradients/normalization.hpp"
#include "tenon/graph/gradients/product.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/nn/rotary_embedding.hpp"

namespace tenon::TENON_ABI::gradients {

/// (batch, steps, heads * size) as (batch, steps, heads, size).
inline Term with_heads_apart(Term x, int64_t heads) {
  const Term count = x.writer->integers({heads});
  return reshape(x, concat_terms({shape(x, 0, 2), count, shape(x, 2) / count}));
}
/// (batch, heads, steps, size) as (batch, steps, heads, size), or the reverse.
inline Term with_heads_and_steps_exchanged(Term x) {
  return x.writer->add(op::Transpose{.perm = {0, 2, 1, 3}}, {x});
}
/// 0, 1, 2, ... up to the number of elements along an axis of x.
inline Term numbered(Term x, int64_t axis) {
  Writer& w = *x.writer;
  const Term extent = reshape(shape(x, axis, axis + 1), w.integers({}));
  return w.add(op::Range{}, {w.integer(0), extent, w.integer(1)});
}

/// Masks of attention's scores (batch, heads, queries, keys): forbidden ones become -infinity.
struct AttentionMasks {
  static constexpr double forbidden = -std::numeric_limits<double>::infinity();

  Step& s;
  const op::Attention& attention;
  bool any = false;

  Term apply(Term scores, Term past) {
    if (s.x(3)) scores = scores + mask(scores), any = true;
    const int64_t left = attention.left_window_size,
                  right = attention.is_causal != 0 ? 0 : attention.right_window_size;
    if (left < 0 && right < 0 && !s.x(6)) return scores;
    any = true;
    const Term key = numbered(scores, 3), queries = shape(scores, 2, 3);
    Term position = unsqueeze(numbered(scores, 2), {1}), ends{};
    if (s.x(6)) {
      ends = unsqueeze(s.x(6), {1, 2, 3});
      position = position + (ends - queries);
    } else if (past) {
      position = position + shape(past, 2, 3);
    }
    const Term ahead = key - position;
    if (right >= 0) scores = where(ahead > static_cast<double>(right), forbidden, scores);
    if (left >= 0) scores = where(ahead < -static_cast<double>(left), forbidden, scores);
    return ends ? where(key < ends, scores, forbidden) : scores;
  }

 private:
  /// attn_mask as an addend.
  Term mask(Term scores) const {
    Writer& w = s.w;
    Term m = s.x(3);
    const DType type = w.dtype(m);
    if (type == DType::undefined)
      s.refuse("the derivative of Attention needs a mask whose type is known before the run");
    if (type == DType::bool_) m = where(m, w.number(0, scores), w.number(forbidden, scores));
    else m = cast_like(m, scores);
    const Dims own = w.dims(m), all = w.dims(scores);
    if (attention.mask_stretches || (own.rank() > 0 && own[own.rank() - 1].same(all[3]))) return m;
    // Keys past the mask's end are masked.
    const Term lacking = shape(scores, 3) - shape(m, -1);
    const Term pads = concat_terms({w.integers({0}), lacking});
    return w.add(op::Pad{}, {m, pads, w.number(forbidden, m), w.integers({-1})});
  }
};

/// The query heads that share a KV head are rows of one product with its keys.
inline void attention_step(Step& s) {
  const op::Attention& a = s.op<op::Attention>();
  Writer& w = s.w;
  const bool packed = s.rank(s.x(0)) == 3;
  const auto by_heads = [&](Term x, const Opt<int64_t>& heads) {
    return packed ? with_heads_and_steps_exchanged(with_heads_apart(x, *heads)) : x;
  };
  Term q = by_heads(widened(s.x(0)), a.q_num_heads);
  Term k = by_heads(cast_like(s.x(1), q), a.kv_num_heads);
  Term v = by_heads(cast_like(s.x(2), q), a.kv_num_heads);
  if (s.x(4)) {
    k = concat_terms({cast_like(s.x(4), q), k}, 2);
    v = concat_terms({cast_like(s.x(5), q), v}, 2);
  }
  const Term of_scores = concat_terms({shape(q, 0, 3), shape(k, 2, 3)});
  const Term of_results = concat_terms({shape(q, 0, 3), shape(v, 3)});
  const Term shared = w.add(op::Max{}, {shape(k, 1, 2), w.integers({1})});  // there may be no heads at all
  const Term rows = concat_terms({shape(k, 0, 2), shape(q, 1, 2) / shared * shape(q, 2, 3)});
  const auto joined = [&](Term x, Term last) { return reshape(x, concat_terms({rows, last})); };

  const Term size = cast_like(reshape(shape(q, 3), w.integers({})), q);
  const Term scaled = a.scale ? q * double{*a.scale} : q / sqrt(size);
  const Term raw = reshape(mat_mul(joined(scaled, shape(q, 3)), transposed(k, 4)), of_scores);
  const double cap = a.softcap;
  const Term capped = cap > 0 ? apply(op::Tanh{}, raw / cap) * cap : raw;
  AttentionMasks masks{s, a};
  const Term masked_scores = masks.apply(capped, s.x(4));
  Term weights{};
  if (masks.any) {
    // A query without keys gives zeros.
    const Term greatest = w.add(op::ReduceMax{}, {masked_scores, w.integers({-1})});
    const Term keyless = equal(greatest, AttentionMasks::forbidden);
    weights = where(keyless, 0.0, w.add(op::Softmax{}, {where(keyless, 0.0, masked_scores)}));
  } else {
    weights = w.add(op::Softmax{}, {masked_scores});
  }
  Term y = reshape(mat_mul(joined(weights, shape(k, 2, 3)), v), of_results);
  if (packed) y = reshape(with_heads_and_steps_exchanged(y), shape(s.y()));
  const Term stages[] = {raw, capped, masked_scores, weights};
  s.through({cast_like(y, s.x(0)), cast_like(k, s.x(1)), cast_like(v, s.x(2)),
             cast_like(stages[a.qk_matmul_output_mode], s.x(0))});
}

/// The pairs of x lie along an axis of extent 2, before or after the angles.
inline void rotary_embedding_step(Step& s) {
  const op::RotaryEmbedding& rotary = s.op<op::RotaryEmbedding>();
  Writer& w = s.w;
  const bool packed = s.rank(s.x()) == 3;
  const int64_t pair = rotary.interleaved != 0 ? -1 : -2, heads = packed ? 2 : 1;
  const Term x = packed ? with_heads_apart(s.x(), *rotary.num_heads) : s.x();
  const auto angles = [&](Term cache) {
    if (s.x(3)) cache = w.add(op::Gather{}, {cache, s.x(3)});
    return unsqueeze(cache, {heads, pair});
  };
  const Term cos = angles(s.x(1)), sin = angles(s.x(2)), one = w.integers({1}), two = w.integers({2});
  const int64_t stated = rotary.rotary_embedding_dim;
  const Term size = stated > 0 ? w.integers({stated}) : shape(x, 3), angle_count = size / two;
  const std::vector<Term> parts =
      w.add_node(op::Split{.axis = 3}, std::array{x, concat_terms({size, shape(x, 3) - size})}, 2);
  const Term pairs = reshape(parts[0], pair == -1 ? concat_terms({shape(x, 0, 3), angle_count, two})
                                                  : concat_terms({shape(x, 0, 3), two, angle_count}));
  const std::vector<Term> of_pairs =
      w.add_node(op::Split{.axis = pair}, std::array{pairs, concat_terms({one, one})}, 2);
  const Term a = of_pairs[0], b = of_pairs[1];
  const Term turned = reshape(concat_terms({a * cos - b * sin, b * cos + a * sin}, pair), shape(parts[0]));
  s.through({reshape(concat_terms({turned, parts[1]}, 3), shape(s.x()))});
}

inline constexpr Rule attention_rules[] = {
    {&operator_id<op::Attention>, attention_step},
    {&operator_id<op::RotaryEmbedding>, rotary_embedding_step},
};

}  // namespace tenon::TENON_ABI::gradients

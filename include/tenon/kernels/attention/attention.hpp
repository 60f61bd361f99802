// Scaled dot-product attention over batches of heads. Computes in float or double; operands may be of any
// floating-point type, and keys and values also codes of 8 or 4 bits. Arguments: args.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/kernels/attention/args.hpp"
#include "tenon/kernels/attention/few.hpp"
#include "tenon/kernels/attention/piece.hpp"

namespace tenon::TENON_ABI::kernels {

/// y = softmax(scale q k^T, capped, + mask) v for every query head; head h has the keys and values of head
/// h / (heads / kv_heads). Queries that attend to no key, because none is in their window or the mask is
/// -infinity for all of them, get zeros (see none_is_nan). Keys outside of the windows of all queries that
/// are computed together are not read. Results depend neither on threads nor on the division of keys into
/// parts. W: float or double.
template <class W>
void attention(const AttentionArgs& a) {
  if (a.batch == 0 || a.heads == 0 || a.queries == 0) return;
  if constexpr (std::is_same_v<W, float>)
    if (detail::FewQueries::serves(a)) return detail::FewQueries(a).run();
  // The few queries of all heads that share keys are one product if their rows are equally spaced. Of many
  // queries, a few heads are one task, which packs keys and values once for all of them.
  const int64_t group = a.heads / a.kv_heads;
  const auto even = [&](const auto& h) { return a.queries == 1 || h.head == a.queries * h.row; };
  const bool joint = group > 1 && a.queries <= 8 && even(a.q) && even(a.y);
  const int64_t rows = joint ? group * a.queries : a.queries,
                together = joint ? group : std::min<int64_t>(group, 4);
  // Enough queries for packing the keys to pay. Few enough for all scores of long rows to stay in the
  // second-level cache, if they are needed at once.
  int64_t piece = 128;
  constexpr int64_t scores = cache_bytes::l2 / int64_t{sizeof(float)};
  if (detail::AttentionPiece<W>::needs_all(a))
    piece = std::clamp<int64_t>(scores / std::max<int64_t>(1, a.keys()), 64, piece);
  const int64_t pieces = (rows + piece - 1) / piece, parts = (group + together - 1) / together;
  parallel_for(a.batch * a.kv_heads * parts * pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t from = item % pieces * piece, part = item / pieces % parts, kv = item / pieces / parts;
      const int64_t head = kv % a.kv_heads * group + part * together;
      const int64_t heads = joint ? 1 : std::min(together, group - part * together);
      detail::AttentionPiece<W>(a, kv / a.kv_heads, head, heads, from, std::min(from + piece, rows)).run();
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels

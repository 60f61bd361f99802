// Parallel loops, run serially in the same chunks as with threads, so that results are bit-identical.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/base/version.hpp"

namespace tenon::TENON_ABI {

inline constexpr int64_t threads_at_hand() { return 1; }

template <class F>
void parallel_for(int64_t n, int64_t grain, F&& f) {
  grain = std::max<int64_t>(grain, 1);
  for (int64_t begin = 0; begin < n;) {
    const int64_t end = n - begin > grain ? begin + grain : n;
    f(begin, end);
    begin = end;
  }
}

template <class F>
void parallel_rounds(int64_t rounds, int64_t n, F&& f) {
  for (int64_t round = 0; round < rounds; ++round)
    for (int64_t i = 0; i < n; ++i) f(round, round % 2 == 0 ? i : n - 1 - i);
}

}  // namespace tenon::TENON_ABI

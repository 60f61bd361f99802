// The working memory that a call takes, to the cache line: what a compiled model has to hold for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <thread>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"

namespace tenon {

/// Whether all Scratch of f() fits into one block of these bytes.
template <class F>
bool fits_into(int64_t bytes, F f) {
  bool fits = false;
  std::thread([&] {
    const ScopedPool serial(nullptr);
    Scratch().take<std::byte>(bytes);
    const std::size_t size = scratch_size();
    f();
    fits = scratch_size() == size;
  }).join();
  return fits;
}

/// The smallest such number, for an f that takes some.
template <class F>
int64_t working_memory(F f) {
  int64_t lines = 1;
  while (!fits_into(64 * lines, f)) lines *= 2;
  for (int64_t step = lines / 4; step > 0; step /= 2)
    if (fits_into(64 * (lines - step), f)) lines -= step;
  return 64 * lines;
}

}  // namespace tenon

// SpareMemory: the memory of results whose extents only a run knows, kept for later runs.
#pragma once

#include <algorithm>
#include <vector>

#include "tenon/tensor/value.hpp"

namespace tenon::TENON_ABI::detail {

class SpareMemory {
 public:
  /// Takes a kept block if one fits, so that repeated runs of one size stop allocating.
  AnyTensor allocate(DType d, const Extents& extents, Allocator& allocator) {
    if (d == DType::string) return AnyTensor::uninitialized(d, extents, allocator);
    const auto bytes = static_cast<std::size_t>(packed_bytes(element_count(extents), d));
    auto best = blocks_.end();
    for (auto k = blocks_.begin(); k != blocks_.end(); ++k)
      if (k->storage.size_bytes() >= bytes &&
          (best == blocks_.end() || k->storage.size_bytes() < best->storage.size_bytes()))
        best = k;
    if (best == blocks_.end() || best->storage.size_bytes() > 2 * bytes + 4096)
      return {d, extents, Storage::allocate(bytes, allocator)};
    std::swap(*best, blocks_.back());
    Storage s = std::move(blocks_.back().storage);
    blocks_.pop_back();
    return {d, extents, std::move(s)};
  }
  /// Keeps the memory of a tensor that has no other handle.
  void keep(const AnyTensor& dead) {
    if (dead.dtype() == DType::string || blocks_.size() >= max_blocks) return;
    if (dead.storage().unique() && dead.storage().writable()) blocks_.push_back({dead.storage(), runs_});
  }
  /// Frees the blocks that the last two runs did not use.
  void end_run() {
    std::erase_if(blocks_, [&](const Block& b) { return b.run + 1 < runs_; });
    ++runs_;
  }
  void clear() { blocks_.clear(); }

 private:
  static constexpr std::size_t max_blocks = 64;
  struct Block {
    Storage storage;
    int64_t run;  // the last run that used the storage
  };
  std::vector<Block> blocks_;
  int64_t runs_ = 0;
};

}  // namespace tenon::TENON_ABI::detail

// Greedy suppression of boxes that overlap better ones. Boxes are sorted only as far as needed, and compared
// with four selected ones at once; if many are selected, a grid over the plane finds those near a box.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "tenon/base/scratch.hpp"
#include "tenon/simd/vector.hpp"

namespace tenon::TENON_ABI::kernels {

/// A rectangle; low and high sides in the caller's convention.
struct Box {
  float top, left, bottom, right;

  /// The area is also positive if both sides are negative.
  float area() const { return (bottom - top) * (right - left); }
};

/// Whether the intersection of two boxes is more than `threshold` of their union. Boxes without an area, or
/// with a NaN coordinate, overlap none.
inline bool overlap(const Box& a, float area_a, const Box& b, float area_b, float threshold) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0 && height > 0)) return false;
  const float common = width * height, all = area_a + area_b - common;
  return common > 0 && area_a > 0 && area_b > 0 && all > 0 && common / all > threshold;
}

namespace detail {

/// A box with its area. Only proper boxes overlap others.
struct Region : Box {
  float size;

  explicit Region(const Box& b) : Box(b), size(b.area()) {}
  bool proper() const {
    constexpr float inf = std::numeric_limits<float>::infinity();
    return top < bottom && left < right && top > -inf && left > -inf && bottom < inf && right < inf &&
           size > 0;
  }
};

/// Proper boxes.
class BoxList {
 public:
  void insert(const Region& b) {
    const auto lane = size_++ % 4;
    if (lane == 0) groups_.push_back(Group{.top = Four{} + std::numeric_limits<float>::infinity()});
    Group& g = groups_.back();
    g.top[lane] = b.top, g.left[lane] = b.left, g.bottom[lane] = b.bottom, g.right[lane] = b.right;
    g.size[lane] = b.size;
  }
  /// Whether any box overlaps the proper box b.
  bool any(const Region& b, float threshold) const {
    const Four none{}, top = none + b.top, left = none + b.left, bottom = none + b.bottom,
                       right = none + b.right;
    for (const Group& g : groups_) {
      const Four height = least(g.bottom, bottom) - most(g.top, top),
                 width = least(g.right, right) - most(g.left, left), common = width * height;
      const auto over =
          (height > none) & (width > none) & (common / (b.size + g.size - common) > none + threshold);
      const auto halves = std::bit_cast<Halves>(over);
      if ((halves[0] | halves[1]) != 0) return true;
    }
    return false;
  }
  int64_t size() const { return size_; }

 private:
  using Four = simd::Vector<float, 4>;
  using Halves = simd::Vector<uint64_t, 2>;
  struct Group {
    Four top{}, left{}, bottom{}, right{}, size{};  // lanes without a box have an infinite top
  };

  static Four least(Four a, Four b) { return simd::choose(a < b, a, b); }
  static Four most(Four a, Four b) { return simd::choose(a > b, a, b); }

  std::vector<Group> groups_;
  int64_t size_ = 0;
};

/// Proper boxes, indexed by the cells of a grid that they touch.
class BoxGrid {
 public:
  /// For boxes box(k) among n, of which at least one is proper.
  template <class At>
  BoxGrid(int64_t n, At box) {
    // The mean sides and the bounds of proper boxes.
    constexpr float max = std::numeric_limits<float>::max();
    Box bounds{max, max, -max, -max};
    double height = 0, width = 0, count = 0;
    for (int64_t k = 0; k < n; ++k) {
      const Region b(box(k));
      if (!b.proper()) continue;
      ++count;
      height += length(b.top, b.bottom);
      width += length(b.left, b.right);
      bounds.top = std::min(bounds.top, b.top), bounds.bottom = std::max(bounds.bottom, b.bottom);
      bounds.left = std::min(bounds.left, b.left), bounds.right = std::max(bounds.right, b.right);
    }
    rows_ = Axis(bounds.top, bounds.bottom, height / count);
    columns_ = Axis(bounds.left, bounds.right, width / count);
    first_.assign(static_cast<std::size_t>(rows_.cells * columns_.cells), -1);
  }

  void insert(const Region& b) {
    const Range r = range(b);
    if (r.cells() > many) return large_.insert(b);
    each(r, [&](int64_t& first) {
      entries_.push_back({b, first});
      first = static_cast<int64_t>(entries_.size()) - 1;
      return false;
    });
  }
  /// Whether any box overlaps the proper box b; nullopt if b touches many cells.
  std::optional<bool> any(const Region& b, float threshold) {
    const Range r = range(b);
    if (r.cells() > many) return std::nullopt;
    return large_.any(b, threshold) || each(r, [&](int64_t first) {
             for (; first >= 0; first = entries_[static_cast<std::size_t>(first)].next)
               if (const Region& other = entries_[static_cast<std::size_t>(first)].box;
                   overlap(b, b.size, other, other.size, threshold))
                 return true;
             return false;
           });
  }

 private:
  static constexpr int64_t many = 16;  // boxes that touch more cells are kept outside the grid

  struct Entry {
    Region box;
    int64_t next;
  };
  struct Range {
    int64_t top, left, bottom, right;
    int64_t cells() const { return (bottom - top + 1) * (right - left + 1); }
  };
  /// In double: two floats may be further apart than the range of float.
  static double length(float low, float high) { return static_cast<double>(high) - low; }
  struct Axis {
    float low = 0;
    double scale = 0;
    int64_t cells = 1;

    Axis() = default;
    Axis(float start, float end, double mean)
        : low(start), cells(static_cast<int64_t>(std::clamp(length(start, end) / mean, 1.0, 128.0))) {
      scale = static_cast<double>(cells) / length(start, end);
    }
    int64_t cell(float v) const { return std::min(static_cast<int64_t>(length(low, v) * scale), cells - 1); }
  };
  Range range(const Box& b) const {
    return {rows_.cell(b.top), columns_.cell(b.left), rows_.cell(b.bottom), columns_.cell(b.right)};
  }
  /// Calls f(first entry) for the cells of a range, until it returns true.
  template <class F>
  bool each(const Range& r, F f) {
    for (int64_t i = r.top; i <= r.bottom; ++i)
      for (int64_t j = r.left; j <= r.right; ++j)
        if (f(first_[static_cast<std::size_t>(i * columns_.cells + j)])) return true;
    return false;
  }

  Axis rows_, columns_;
  std::vector<int64_t> first_;
  std::vector<Entry> entries_;
  BoxList large_;
};

/// A box and its place in the order of scores: better boxes have lower ranks.
struct RankedBox {
  uint32_t rank;
  int64_t box;

  bool operator<(const RankedBox& other) const {
    return rank != other.rank ? rank < other.rank : box < other.box;
  }
};

/// Equal for equal scores.
inline uint32_t rank_of(float score) {
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // -0 becomes 0
  return bits >> 31 ? bits : ~bits & 0x7fffffff;
}

/// The boxes with scores above `least`, or all whose score is not NaN, in any order.
inline std::span<RankedBox> rank_boxes(const float* scores, int64_t n, float least, bool has_least,
                                       Scratch& scratch) {
  auto* const ranked = scratch.take<RankedBox>(n);
  constexpr int64_t block = 16;
  int64_t count = 0;
  for (int64_t begin = 0; begin < n; begin += block) {
    const int64_t end = std::min(n, begin + block);
    // Most scores are too low, often all of a block.
    if (has_least && end - begin == block) {
      int above = 0;
      for (int64_t i = 0; i < block; ++i) above |= scores[begin + i] > least;
      if (above == 0) continue;
    }
    for (int64_t k = begin; k < end; ++k) {
      ranked[count] = {rank_of(scores[k]), k};
      count += has_least ? scores[k] > least : scores[k] == scores[k];
    }
  }
  return {ranked, static_cast<std::size_t>(count)};
}

/// Calls f(box) in the order of ranks until it returns false. The boxes are partitioned by rank, and each
/// part is sorted only when its turn comes.
template <class F>
void by_rank(std::span<RankedBox> ranked, Scratch& scratch, F f) {
  const auto n = static_cast<int64_t>(ranked.size());
  if (n == 0) return;
  uint32_t low = ranked[0].rank, high = low;
  for (const RankedBox& r : ranked) low = std::min(low, r.rank), high = std::max(high, r.rank);
  const int wanted = static_cast<int>(std::bit_width(static_cast<uint64_t>(n) / 4 + 1)),
            shift = std::max(0, static_cast<int>(std::bit_width(high - low)) - std::min(wanted, 16));
  const int64_t parts = ((high - low) >> shift) + 1;
  auto* const ends = scratch.take<int64_t>(parts + 1);
  auto* const sorted = scratch.take<RankedBox>(n);
  std::fill_n(ends, parts + 1, 0);
  for (const RankedBox& r : ranked) ++ends[((r.rank - low) >> shift) + 1];
  for (int64_t p = 0; p < parts; ++p) ends[p + 1] += ends[p];
  for (const RankedBox& r : ranked) sorted[ends[(r.rank - low) >> shift]++] = r;
  for (int64_t p = 0, begin = 0; p < parts; begin = ends[p++]) {
    if (ends[p] - begin > 1) std::sort(sorted + begin, sorted + ends[p]);
    for (int64_t k = begin; k < ends[p]; ++k)
      if (!f(sorted[k].box)) return;
  }
}

}  // namespace detail

/// The indices of at most `most` of the boxes box(k), k < n, best scores first, and lower indices first among
/// equal scores: a box is left out if it overlaps an earlier one by more than `threshold`, which lies in [0,
/// 1]. Boxes with scores not above `least`, and those whose score is NaN, are left out.
template <class At>
std::vector<int64_t> suppress(At box, const float* scores, int64_t n, int64_t most, float threshold,
                              float least, bool has_least) {
  std::vector<int64_t> selected;
  if (most <= 0) return selected;
  Scratch scratch;
  const std::span<detail::RankedBox> ranked = detail::rank_boxes(scores, n, least, has_least, scratch);
  detail::BoxList list;
  std::optional<detail::BoxGrid> grid;
  const auto overlaps = [&](const detail::Region& b) {
    const auto found = grid ? grid->any(b, threshold) : std::nullopt;
    return found ? *found : list.any(b, threshold);
  };
  detail::by_rank(ranked, scratch, [&](int64_t k) {
    // No intersection exceeds the whole union.
    if (const detail::Region b(box(k)); threshold < 1 && b.proper()) {
      if (overlaps(b)) return true;
      // A short list takes less time than a grid: its best boxes overlap many.
      if (list.size() == 1024 && !grid) {
        grid.emplace(static_cast<int64_t>(ranked.size()),
                     [&](int64_t i) { return box(ranked[static_cast<std::size_t>(i)].box); });
        for (int64_t other : selected)
          if (const detail::Region r(box(other)); r.proper()) grid->insert(r);
      }
      list.insert(b);
      if (grid) grid->insert(b);
    }
    selected.push_back(k);
    return static_cast<int64_t>(selected.size()) < most;
  });
  return selected;
}

}  // namespace tenon::TENON_ABI::kernels

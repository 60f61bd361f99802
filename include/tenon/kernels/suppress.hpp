// Greedy suppression of boxes that overlap better ones. A grid over the plane finds the selected boxes near a
// box, with which alone it is compared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace tenon::kernels {

/// A rectangle; low and high sides as the caller has them.
struct Box {
  float top, left, bottom, right;

  /// Negative sides give an area too, if both are.
  float area() const { return (bottom - top) * (right - left); }
};

/// Whether the intersection of two boxes is more than `threshold` of their union. Boxes without an area, or
/// with a coordinate that is no number, overlap none.
inline bool overlap(const Box& a, float area_a, const Box& b, float area_b, float threshold) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0 && height > 0)) return false;
  const float common = width * height, all = area_a + area_b - common;
  return common > 0 && area_a > 0 && area_b > 0 && all > 0 && common / all > threshold;
}

namespace detail {

/// Boxes that were selected, by the cells of a grid that they touch.
class BoxGrid {
 public:
  /// For the boxes of these numbers.
  BoxGrid(const Box* boxes, const std::vector<int64_t>& numbers) {
    // The mean sides and the bounds of boxes that can overlap.
    double height = 0, width = 0;
    int64_t count = 0;
    for (int64_t k : numbers) {
      const Box& b = boxes[k];
      if (!ordinary(b)) continue;
      ++count;
      height += length(b.top, b.bottom);
      width += length(b.left, b.right);
      bounds_.top = std::min(bounds_.top, b.top), bounds_.bottom = std::max(bounds_.bottom, b.bottom);
      bounds_.left = std::min(bounds_.left, b.left), bounds_.right = std::max(bounds_.right, b.right);
    }
    if (count >= 64) {
      rows_ = cells(length(bounds_.top, bounds_.bottom), height / static_cast<double>(count));
      columns_ = cells(length(bounds_.left, bounds_.right), width / static_cast<double>(count));
    }
    first_.assign(static_cast<std::size_t>(rows_ * columns_), -1);
  }

  void insert(int64_t box, const Box& b) {
    if (!ordinary(b)) return;
    const Range r = range(b);
    everyone_.push_back(box);
    if (r.cells() > many) {
      large_.push_back(box);
      return;
    }
    each(r, [&](int64_t& first) {
      entries_.push_back({box, first});
      first = static_cast<int64_t>(entries_.size()) - 1;
      return false;
    });
  }
  /// Whether test(box) holds for any box that can overlap b.
  template <class F>
  bool any(const Box& b, F test) {
    if (!ordinary(b)) return false;
    const Range r = range(b);
    if (r.cells() > many) return std::any_of(everyone_.begin(), everyone_.end(), test);
    if (std::any_of(large_.begin(), large_.end(), test)) return true;
    return each(r, [&](int64_t first) {
      for (; first >= 0; first = entries_[static_cast<std::size_t>(first)].next)
        if (test(entries_[static_cast<std::size_t>(first)].box)) return true;
      return false;
    });
  }

 private:
  static constexpr int64_t many = 16;  // a box that touches more cells is kept beside the grid

  struct Entry {
    int64_t box, next;
  };
  struct Range {
    int64_t top, left, bottom, right;
    int64_t cells() const { return (bottom - top + 1) * (right - left + 1); }
  };

  /// Only such boxes can overlap others.
  static bool ordinary(const Box& b) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    return b.top < b.bottom && b.left < b.right && b.top > -inf && b.left > -inf && b.bottom < inf &&
           b.right < inf;
  }
  /// In double: two floats may lie further apart than float reaches.
  static double length(float low, float high) { return static_cast<double>(high) - low; }
  static int64_t cells(double extent, double mean) {
    return static_cast<int64_t>(std::clamp(extent / mean, 1.0, 128.0));
  }
  /// The cell of a coordinate, of so many that divide [low, high].
  static int64_t cell(float v, float low, float high, int64_t cells) {
    const double at = length(low, v) / length(low, high) * static_cast<double>(cells);
    return std::min(static_cast<int64_t>(at), cells - 1);
  }
  Range range(const Box& b) const {
    return {cell(b.top, bounds_.top, bounds_.bottom, rows_),
            cell(b.left, bounds_.left, bounds_.right, columns_),
            cell(b.bottom, bounds_.top, bounds_.bottom, rows_),
            cell(b.right, bounds_.left, bounds_.right, columns_)};
  }
  /// f(first entry) for the cells of a range, until it holds.
  template <class F>
  bool each(const Range& r, F f) {
    for (int64_t i = r.top; i <= r.bottom; ++i)
      for (int64_t j = r.left; j <= r.right; ++j)
        if (f(first_[static_cast<std::size_t>(i * columns_ + j)])) return true;
    return false;
  }

  static constexpr float max_ = std::numeric_limits<float>::max();
  Box bounds_{max_, max_, -max_, -max_};
  int64_t rows_ = 1, columns_ = 1;
  std::vector<int64_t> first_, everyone_, large_;
  std::vector<Entry> entries_;
};

}  // namespace detail

/// The numbers of at most `most` boxes, best scores first, and the lower number first among equal scores: a
/// box is left out when it overlaps one before it by more than `threshold`, which lies in [0, 1]. Boxes with
/// scores not above `least`, and those whose score is no number, are left out.
inline std::vector<int64_t> suppress(const Box* boxes, const float* scores, int64_t n, int64_t most,
                                     float threshold, float least, bool has_least) {
  std::vector<int64_t> order, selected;
  if (most <= 0) return selected;
  for (int64_t k = 0; k < n; ++k)
    if (has_least ? scores[k] > least : scores[k] == scores[k]) order.push_back(k);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  detail::BoxGrid grid(boxes, order);
  for (int64_t k : order) {
    if (static_cast<int64_t>(selected.size()) == most) break;
    const Box& b = boxes[k];
    const float area = b.area();
    // No intersection is more than the whole of the union.
    if (threshold < 1 &&
        grid.any(
            b, [&](int64_t other) { return overlap(b, area, boxes[other], boxes[other].area(), threshold); }))
      continue;
    selected.push_back(k);
    if (threshold < 1) grid.insert(k, b);
  }
  return selected;
}

}  // namespace tenon::kernels

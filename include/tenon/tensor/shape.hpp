// Extents: at compile time (Shape), of an existing tensor (Extents), and as inferred (Dims).
#pragma once

#include <array>
#include <limits>

#include "tenon/base/inline_vector.hpp"
#include "tenon/base/platform/overflow.hpp"

namespace tenon::TENON_ABI {

/// An extent known only at run time.
inline constexpr int64_t dyn = -1;

/// The extents of a tensor as part of its type; `dyn` where known only at run time.
template <int64_t... E>
struct Shape {
  static_assert(((E >= dyn) && ...), "an extent is at least 0, or dyn");
  static_assert(sizeof...(E) <= max_rank, "a tensor has at most 16 axes");
  static constexpr int rank = sizeof...(E);
  static constexpr std::array<int64_t, sizeof...(E)> extents{E...};
};

/// Rank and extents are known only at run time.
struct AnyShape {
  static constexpr int rank = -1;
};

/// The extents of an existing tensor.
using Extents = InlineVector<int64_t, max_rank>;

/// "(2,3)"
[[gnu::cold]] inline std::string to_string(std::span<const int64_t> extents) {
  std::string text = "(";
  for (std::size_t i = 0; i < extents.size(); ++i) text += str_cat(i ? "," : "", extents[i]);
  return text + ")";
}

/// The number of elements; Error{invalid_shape} when an extent is negative or the product overflows int64.
constexpr int64_t element_count(std::span<const int64_t> extents) {
  int64_t count = 1;
  bool zero = false;
  for (int64_t e : extents) {
    if (e < 0) raise(ErrorCode::invalid_shape, {}, "negative extent in ", to_string(extents));
    zero |= e == 0;
  }
  if (zero) return 0;
  for (int64_t e : extents)
    if (detail::mul_overflow(count, e, &count))
      raise(ErrorCode::invalid_shape, {}, "extents ", to_string(extents), " overflow");
  return count;
}

/// The product of extents that element_count has accepted, or of some of them; 1 for none. It overflows int64
/// only if there is no element, and is then 0.
constexpr int64_t extent_product(std::span<const int64_t> extents) {
  int64_t p = 1;
  for (int64_t e : extents)
    if (detail::mul_overflow(p, e, &p)) return 0;
  return p;
}

/// The extent of an axis; negative axes count from the end. Error{out_of_range}.
constexpr int64_t extent_at(std::span<const int64_t> extents, int axis) {
  const auto rank = static_cast<int>(extents.size());
  if (axis < -rank || axis >= rank)
    raise(ErrorCode::out_of_range, {}, "axis ", axis, " of ", to_string(extents));
  return extents[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
}

/// The axis in [0, rank) that `axis` in [-rank, rank) names: counted from the end if negative.
constexpr int resolve_axis(int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

/// The extents seen as (outer, extent of the axis, inner). A scalar is (1, 1, 1).
struct AxisSplit {
  int64_t outer = 1, extent = 1, inner = 1;
};
constexpr AxisSplit split_at(std::span<const int64_t> extents, int axis) {
  if (extents.empty()) return {};
  const auto at = static_cast<std::size_t>(axis);
  return {extent_product(extents.first(at)), extents[at], extent_product(extents.subspan(at + 1))};
}

/// A known integer, a symbol ("batch"), or unknown: an extent, or an element of shape arithmetic.
struct Dim {
  // The lowest int64 stands for "unknown", and the values just above it for symbols, by number.
  static constexpr int64_t unknown_ = std::numeric_limits<int64_t>::min();
  static constexpr int64_t last_symbol_ = unknown_ + (int64_t{1} << 32);
  int64_t raw_ = unknown_;

  constexpr Dim() = default;
  constexpr Dim(int64_t value) : raw_(value <= last_symbol_ ? unknown_ : value) {}
  /// The symbol of a number above 0; equal numbers are equal extents.
  static constexpr Dim symbol(int32_t number) {
    Dim d;
    d.raw_ = unknown_ + number;
    return d;
  }
  static constexpr Dim unknown() { return {}; }

  constexpr bool known() const { return raw_ > last_symbol_; }
  constexpr bool symbolic() const { return raw_ > unknown_ && raw_ <= last_symbol_; }
  constexpr int64_t value() const { return raw_; }
  constexpr int32_t symbol() const { return static_cast<int32_t>(raw_ - unknown_); }

  /// Known to be the same integer.
  constexpr bool same(Dim o) const { return raw_ == o.raw_ && raw_ != unknown_; }
  /// Known to be different integers.
  constexpr bool differs(Dim o) const { return known() && o.known() && raw_ != o.raw_; }
  /// Known to be less.
  constexpr bool below(Dim o) const { return known() && o.known() && raw_ < o.raw_; }
  constexpr bool is(int64_t value) const { return known() && raw_ == value; }
  constexpr bool operator==(const Dim&) const = default;

  friend constexpr Dim operator+(Dim a, Dim b) {
    if (a.is(0)) return b;
    if (b.is(0)) return a;
    int64_t r = 0;
    if (!a.known() || !b.known() || detail::add_overflow(a.raw_, b.raw_, &r)) return unknown();
    return r;
  }
  friend constexpr Dim operator-(Dim a, Dim b) {
    if (b.is(0)) return a;
    if (a.same(b)) return 0;
    int64_t r = 0;
    if (!a.known() || !b.known() || detail::sub_overflow(a.raw_, b.raw_, &r)) return unknown();
    return r;
  }
  friend constexpr Dim operator*(Dim a, Dim b) {
    if (a.is(1)) return b;
    if (b.is(1)) return a;
    if (a.is(0) || b.is(0)) return 0;
    int64_t r = 0;
    if (!a.known() || !b.known() || detail::mul_overflow(a.raw_, b.raw_, &r)) return unknown();
    return r;
  }
  /// Truncates, as integer division in ONNX does; unknown when b is 0.
  friend constexpr Dim operator/(Dim a, Dim b) {
    if (b.is(1)) return a;
    if (a.same(b) && !a.is(0)) return 1;
    if (!a.known() || !b.known() || b.raw_ == 0) return unknown();
    return b.raw_ == -1 ? Dim(0) - a : Dim(a.raw_ / b.raw_);
  }
  /// The remainder of a / b.
  friend constexpr Dim operator%(Dim a, Dim b) {
    if (b.is(1) || b.is(-1)) return 0;
    if (!a.known() || !b.known() || b.raw_ == 0) return unknown();
    return a.raw_ % b.raw_;
  }
};

/// The inferred extents of a value: the rank may be unknown, and each extent is known, symbolic or unknown.
struct Dims {
  InlineVector<Dim, max_rank> dims_{};
  bool ranked_ = false;

  constexpr Dims() = default;
  constexpr Dims(std::initializer_list<Dim> dims) : dims_(dims), ranked_(true) {}
  constexpr Dims(std::span<const int64_t> extents) : dims_(extents.begin(), extents.end()), ranked_(true) {}
  constexpr Dims(const Extents& extents) : Dims(std::span<const int64_t>(extents)) {}
  static constexpr Dims of_rank(int rank, Dim fill = {}) {
    Dims d;
    d.ranked_ = true;
    d.dims_.resize(rank, fill);
    return d;
  }

  constexpr bool ranked() const { return ranked_; }
  constexpr int rank() const { return dims_.size(); }
  constexpr Dim operator[](int64_t i) const { return dims_[i]; }
  constexpr Dim& operator[](int64_t i) { return dims_[i]; }
  constexpr const Dim* begin() const { return dims_.begin(); }
  constexpr const Dim* end() const { return dims_.end(); }
  constexpr void push_back(Dim d) { dims_.push_back(d); }
  constexpr void insert(int at, Dim d) { dims_.insert(at, d); }
  constexpr void erase(int at) { dims_.erase(at); }
  constexpr bool operator==(const Dims&) const = default;

  /// Whether one value can have both as its extents: no known ranks or extents differ.
  constexpr bool fits(const Dims& o) const {
    return !ranked_ || !o.ranked_ || agree(o, [](Dim a, Dim b) { return !a.differs(b); });
  }
  /// Known to be the same extents.
  constexpr bool same(const Dims& o) const {
    return ranked_ && o.ranked_ && agree(o, [](Dim a, Dim b) { return a.same(b); });
  }
  /// Rank and every extent are known.
  constexpr bool known() const {
    for (Dim d : *this)
      if (!d.known()) return false;
    return ranked_;
  }
  /// The product of the extents from axis `first` up to `last`.
  constexpr Dim product(int first, int last) const {
    Dim p = 1;
    for (int i = first; i < last; ++i)
      if (dims_[i].is(0)) return 0;
    for (int i = first; i < last; ++i) p = p * dims_[i];
    return p;
  }
  constexpr Dim count() const { return ranked_ ? product(0, rank()) : Dim{}; }
  /// The extents; only when known().
  constexpr Extents extents() const {
    Extents e;
    for (Dim d : *this) e.push_back(d.value());
    return e;
  }

 private:
  // No template: clang would not define it before it is evaluated.
  constexpr bool agree(const Dims& o, bool (*alike)(Dim, Dim)) const {
    if (rank() != o.rank()) return false;
    for (int k = 0; k < rank(); ++k)
      if (!alike(dims_[k], o.dims_[k])) return false;
    return true;
  }
};

/// What two values' extents have in common: extents that differ are unknown.
constexpr Dims common(const Dims& a, const Dims& b) {
  if (!a.ranked() || !b.ranked() || a.rank() != b.rank()) return {};
  Dims r = a;
  for (int k = 0; k < a.rank(); ++k)
    if (!a[k].same(b[k])) r[k] = Dim::unknown();
  return r;
}

}  // namespace tenon::TENON_ABI

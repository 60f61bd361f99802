// Rows of tensors as ranges, and tensors over the memory of spans, vectors and arrays.
//
//     for (TensorView<float, Shape<3>> row : rows(x)) …      of a Tensor<float, Shape<dyn, 3>>
//     auto v = view_of(samples);              of a std::vector<float>: TensorView<float, Shape<dyn>>
//     auto m = view_of(samples, {n, 4});      TensorView<float, Shape<dyn, dyn>>
//     auto t = to_tensor(samples);            a copy; of std::move(samples), no copy
//
// The elements already form a range: Tensor and TensorView have begin, end, data and size, and convert with
// std::span(x).
#pragma once

#include <compare>
#include <iterator>
#include <ranges>
#include <span>

#include "tenon/array/shape.hpp"

namespace tenon::TENON_ABI {

/// The parts of a tensor along its first axis, each a view with the remaining axes: a random access range.
template <class T, class S>
class Rows {
  static_assert(S::rank != 0, "a scalar has no rows");
  static_assert(!PackedElement<T>, "rows of packed elements may begin within a byte");

 public:
  using Row = TensorView<T, typename array_detail::Tail<S>::type>;

  class iterator {
   public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::input_iterator_tag;  // `*` gives a view, not a reference
    using value_type = Row;
    using difference_type = int64_t;

    iterator() = default;
    iterator(const Rows* rows, int64_t at) : rows_(rows), at_(at) {}
    Row operator*() const { return (*rows_)[at_]; }
    Row operator[](int64_t n) const { return (*rows_)[at_ + n]; }
    iterator& operator+=(int64_t n) {
      at_ += n;
      return *this;
    }
    iterator& operator-=(int64_t n) { return *this += -n; }
    iterator& operator++() { return *this += 1; }
    iterator& operator--() { return *this += -1; }
    iterator operator++(int) { return {rows_, at_++}; }
    iterator operator--(int) { return {rows_, at_--}; }
    friend iterator operator+(iterator i, int64_t n) { return i += n; }
    friend iterator operator+(int64_t n, iterator i) { return i += n; }
    friend iterator operator-(iterator i, int64_t n) { return i -= n; }
    friend int64_t operator-(const iterator& a, const iterator& b) { return a.at_ - b.at_; }
    friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }
    friend auto operator<=>(const iterator& a, const iterator& b) { return a.at_ <=> b.at_; }

   private:
    const Rows* rows_ = nullptr;
    int64_t at_ = 0;
  };

  /// Error{invalid_shape} for a view that is absent or has no axis.
  explicit Rows(const TensorView<T, S>& v) : data_(v.data()) {
    if (!v || v.rank() == 0) raise(ErrorCode::invalid_shape, "rows", v ? "a scalar has none" : "no tensor");
    layout_ = Layout<typename Row::shape_type>(v.extents().subspan(1));
    each_ = extent_product(layout_.extents());
    size_ = v.extents()[0];
  }
  int64_t size() const { return size_; }
  /// Row i, 0 <= i < size().
  Row operator[](int64_t i) const { return Row(data_ + i * each_, layout_, each_); }
  iterator begin() const { return {this, 0}; }
  iterator end() const { return {this, size_}; }

 private:
  T* data_;
  Layout<typename Row::shape_type> layout_{};
  int64_t each_ = 0, size_ = 0;
};

/// The rows of a tensor, which they refer to. for (auto row : rows(x)) row[0] = 1.
template <class T, class S>
[[nodiscard]] Rows<T, S> rows(const TensorView<T, S>& v) {
  return Rows<T, S>(v);
}
template <class T, class S>
[[nodiscard]] Rows<T, S> rows(Tensor<T, S>& t) {
  return Rows<T, S>(t.view());
}
template <class T, class S>
[[nodiscard]] Rows<const T, S> rows(const Tensor<T, S>& t) {
  return Rows<const T, S>(t.view());
}
template <class T, class S>
Rows<T, S> rows(Tensor<T, S>&& t) = delete;  // its elements would be gone

namespace array_detail {

/// Contiguous elements in memory that outlives the call: a vector, an array, a span.
template <class R>
concept Memory = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                 std::ranges::borrowed_range<R> && Element<std::ranges::range_value_t<R>>;

template <class R>
using ElementOf = std::remove_reference_t<std::ranges::range_reference_t<R>>;

/// The extent of std::array, C arrays and spans of a fixed length; else dyn.
template <class R>
inline constexpr int64_t static_size = [] {
  constexpr std::size_t extent = decltype(std::span(std::declval<R>()))::extent;
  return extent == std::dynamic_extent ? dyn : static_cast<int64_t>(extent);
}();

template <class S, class R>
auto view_as(R&& r, std::span<const int64_t> extents) {
  const auto size = static_cast<int64_t>(std::ranges::size(r));
  return named("view_of", [&] {
    const Layout<S> layout(extents);
    if (element_count(extents) != size)
      raise(ErrorCode::invalid_shape, {}, "extents ", to_string(extents), " for ", size, " elements");
    return TensorView<ElementOf<R>, S>(std::ranges::data(r), layout, size);
  });
}

}  // namespace array_detail

/// The elements of a std::vector, std::span, std::array or C array as a tensor of one axis, without a copy;
/// they must outlive the view. A const vector gives a view of const elements. view_of(v).
template <array_detail::Memory R>
[[nodiscard]] auto view_of(R&& r) {
  const auto size = static_cast<int64_t>(std::ranges::size(r));
  return array_detail::view_as<Shape<array_detail::static_size<R>>>(r, std::span(&size, 1));
}
/// The same with given extents: view_of(v, {2, 3}), view_of(v, x.extents()), and with static ones
/// view_of<Shape<2, 3>>(v). Error{invalid_shape} if the number of elements differs.
template <array_detail::Memory R, std::size_t Rank>
[[nodiscard]] auto view_of(R&& r, const int64_t (&extents)[Rank]) {
  return array_detail::view_as<DynamicShape<Rank>>(r, extents);
}
template <array_detail::Memory R>
[[nodiscard]] auto view_of(R&& r, const Extents& extents) {
  return array_detail::view_as<AnyShape>(r, extents);
}
template <array_detail::Static S, array_detail::Memory R>
[[nodiscard]] auto view_of(R&& r) {
  return array_detail::view_as<S>(r, S::extents);
}

/// A tensor with a copy of a range's elements, of one axis or with given extents.
/// to_tensor(std::list<float>{…}), to_tensor(v, {2, 3}). Error{invalid_shape} if the number of elements
/// differs.
template <std::ranges::forward_range R>
  requires Element<std::ranges::range_value_t<R>>
[[nodiscard]] auto to_tensor(const R& r) {
  using T = std::ranges::range_value_t<R>;
  return Tensor<T, Shape<dyn>>(Extents{static_cast<int64_t>(std::ranges::distance(r))}, std::ranges::begin(r),
                               std::ranges::end(r));
}
template <std::ranges::forward_range R, std::size_t Rank>
  requires Element<std::ranges::range_value_t<R>>
[[nodiscard]] auto to_tensor(const R& r, const int64_t (&extents)[Rank]) {
  using T = std::ranges::range_value_t<R>;
  return Tensor<T, DynamicShape<Rank>>(Extents(std::span<const int64_t>(extents)), std::ranges::begin(r),
                                       std::ranges::end(r));
}
/// The tensor takes over the vector's memory.
template <Element T>
  requires(!std::is_same_v<T, bool> && !PackedElement<T>)
[[nodiscard]] Tensor<T, Shape<dyn>> to_tensor(std::vector<T>&& v) {
  const Extents extents{static_cast<int64_t>(v.size())};
  return Tensor<T, Shape<dyn>>(extents, std::move(v));
}
template <Element T, std::size_t Rank>
  requires(!std::is_same_v<T, bool> && !PackedElement<T>)
[[nodiscard]] Tensor<T, DynamicShape<Rank>> to_tensor(std::vector<T>&& v, const int64_t (&extents)[Rank]) {
  return Tensor<T, DynamicShape<Rank>>(Extents(std::span<const int64_t>(extents)), std::move(v));
}

}  // namespace tenon::TENON_ABI

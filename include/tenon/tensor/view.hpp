// Views of tensors that are stored elsewhere: dense, row-major, with a static or a run-time element type.
#pragma once

#include "tenon/base/element.hpp"
#include "tenon/tensor/shape.hpp"
#include "tenon/tensor/type.hpp"

namespace tenon::TENON_ABI {

/// Rank and extents at run time; static ones are part of the type and cost nothing to query.
template <class S>
struct Layout {
  static constexpr int static_rank = S::rank;
  std::array<int64_t, S::rank> extents_ = default_extents();

  constexpr Layout() = default;
  constexpr explicit Layout(std::span<const int64_t> extents) {
    if (!fits(extents))
      raise(ErrorCode::invalid_shape, {}, "extents ", to_string(extents), " do not fit the type ", text());
    // Not std::copy: with no extents, gcc mistakes its memmove for one from null.
    for (std::size_t i = 0; i < extents.size(); ++i) extents_[i] = extents[i];
  }
  static constexpr bool fits(std::span<const int64_t> extents) {
    if (extents.size() != S::extents.size()) return false;
    for (std::size_t i = 0; i < extents.size(); ++i)
      if (S::extents[i] != dyn && S::extents[i] != extents[i]) return false;
    return true;
  }
  static constexpr bool is_static() {
    for (int64_t e : S::extents)
      if (e == dyn) return false;
    return true;
  }
  [[gnu::cold]] static std::string text() {
    std::string t = "(";
    for (std::size_t i = 0; i < S::extents.size(); ++i)
      t += str_cat(i ? "," : "", S::extents[i] == dyn ? std::string("dyn") : std::to_string(S::extents[i]));
    return t + ")";
  }
  constexpr int rank() const { return S::rank; }
  constexpr std::span<const int64_t> extents() const { return extents_; }

 private:
  static constexpr std::array<int64_t, S::rank> default_extents() {
    auto e = S::extents;
    for (int64_t& x : e) x = x == dyn ? 0 : x;
    return e;
  }
};

/// Only the first `rank_` extents have values: a view is made for each operand of each call of an operator,
/// and most have few axes.
template <>
struct Layout<AnyShape> {
  static constexpr int static_rank = -1;
  int64_t extents_[max_rank];
  int rank_ = 0;

  constexpr Layout() : Layout(Extents{0}) {}
  constexpr explicit Layout(std::span<const int64_t> extents) : Layout(Extents(extents)) {}
  constexpr explicit Layout(const Extents& extents) : rank_(extents.size()) {
    constexpr int few = 4;
    if (rank_ <= few && !std::is_constant_evaluated()) {  // constants need a value for every element
      for (int d = 0; d < few; ++d) extents_[d] = extents[d];
    } else {
      for (int d = 0; d < max_rank; ++d) extents_[d] = extents[d];
    }
  }
  static constexpr bool fits(std::span<const int64_t>) { return true; }
  static constexpr bool is_static() { return false; }
  static std::string text() { return "(any)"; }
  constexpr int rank() const { return rank_; }
  constexpr std::span<const int64_t> extents() const { return {extents_, static_cast<std::size_t>(rank_)}; }
};

/// Whether a tensor of extents From is always one of extents To.
template <class From, class To>
constexpr bool widens() {
  if constexpr (std::is_same_v<To, AnyShape>) return true;
  else if constexpr (std::is_same_v<From, AnyShape>) return false;
  else if constexpr (From::rank != To::rank) return false;
  else {
    for (std::size_t i = 0; i < From::extents.size(); ++i)
      if (To::extents[i] != dyn && To::extents[i] != From::extents[i]) return false;
    return true;
  }
}

namespace detail {
/// Whether R is a contiguous list of T, and not a tensor or view, which has extents of its own.
template <class R, class T>
concept is_list_of =
    std::is_convertible_v<R, std::span<T>> && !requires { typename std::remove_cvref_t<R>::shape_type; };
}  // namespace detail

/// Elements of type T (const T for reading only), dense and row-major, owned elsewhere. A default-constructed
/// view is absent: an operator gets one for an optional operand that was left out. Sub-byte elements are
/// accessed through a proxy reference.
template <class T, class S = AnyShape>
class TensorView {
  static_assert(Element<std::remove_const_t<T>>,
                "T is none of the 26 element types; of long and long long, only int64_t is one");

 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  using shape_type = S;
  using pointer = element_pointer_t<T>;
  using reference = decltype(*std::declval<pointer>());

  constexpr TensorView() = default;
  /// `data` holds as many elements as the product of `extents`.
  constexpr TensorView(pointer data, std::span<const int64_t> extents)
      : data_(data), layout_(extents), count_(element_count(extents)), present_(true) {}
  /// The same where the number of elements is known.
  constexpr TensorView(pointer data, const Layout<S>& layout, int64_t count)
      : data_(data), layout_(layout), count_(count), present_(true) {}
  constexpr TensorView(pointer data, const Extents& extents, int64_t count)
    requires std::is_same_v<S, AnyShape>
      : data_(data), layout_(extents), count_(count), present_(true) {}
  constexpr TensorView(pointer data, std::initializer_list<int64_t> extents)
      : TensorView(data, std::span<const int64_t>(extents.begin(), extents.size())) {}
  /// If S states all extents: `data` holds that many elements. TensorView<const float, Shape<2, 3>>(p)
  template <class P>
    requires(Layout<S>::is_static() && std::is_convertible_v<P, pointer> && !std::is_array_v<P> &&
             !std::is_null_pointer_v<P>)
  constexpr TensorView(const P& data) : TensorView(data, Layout<S>(), element_count(S::extents)) {}
  /// The same for a span, a vector or an array, whose size is checked: by the compiler if its type states it,
  /// else Error{invalid_shape}. The elements must outlive the view.
  template <class R>
    requires(Layout<S>::is_static() && std::is_pointer_v<pointer> && detail::is_list_of<R, T>)
  constexpr TensorView(R&& list) : TensorView(std::span<T>(list).data()) {
    constexpr auto count = static_cast<std::size_t>(element_count(S::extents));
    constexpr std::size_t stated = decltype(std::span(list))::extent;
    static_assert(stated == std::dynamic_extent || stated == count, "as many elements as the extents need");
    if (std::span<T>(list).size() != count)
      raise(ErrorCode::invalid_shape, {}, "extents ", to_string(S::extents), " need ", count,
            " elements, not ", std::span<T>(list).size());
  }
  /// From a view of writable elements or of narrower extents.
  template <class U, class From>
    requires(std::is_same_v<std::remove_const_t<U>, value_type> &&
             (std::is_const_v<T> || !std::is_const_v<U>) && widens<From, S>())
  constexpr TensorView(const TensorView<U, From>& o) : count_(o.size()), present_(static_cast<bool>(o)) {
    if (!present_) return;
    data_ = pointer(o.data());
    layout_ = Layout<S>(o.extents());
  }

  constexpr explicit operator bool() const { return present_; }
  static constexpr DType dtype() { return dtype_of<value_type>; }
  constexpr int rank() const { return layout_.rank(); }
  constexpr std::span<const int64_t> extents() const { return layout_.extents(); }
  /// The extent of an axis; negative axes count from the end. Error{out_of_range}.
  constexpr int64_t extent(int axis) const { return extent_at(extents(), axis); }
  /// The number of elements.
  constexpr int64_t size() const { return count_; }
  constexpr bool empty() const { return count_ == 0; }

  constexpr pointer data() const { return data_; }
  constexpr pointer begin() const { return data_; }
  constexpr pointer end() const { return data_ + count_; }
  /// The i-th element in row-major order.
  constexpr reference operator[](int64_t i) const { return data_[i]; }
  /// The element at an index per axis; Error{out_of_range} outside.
  template <class... I>
    requires(std::is_convertible_v<I, int64_t> && ...)
  constexpr reference operator()(I... index) const {
    static_assert(Layout<S>::static_rank < 0 || Layout<S>::static_rank == static_cast<int>(sizeof...(I)),
                  "one index for each axis");
    static_assert((!std::is_floating_point_v<I> && ...), "an index is an integer");
    if (static_cast<int>(sizeof...(I)) != rank())
      raise(ErrorCode::out_of_range, {}, sizeof...(I), " indices for rank ", rank());
    if (!present_) raise(ErrorCode::out_of_range, {}, "an absent view has no elements");
    int64_t offset = 0;
    std::size_t axis = 0;
    [[maybe_unused]] auto step = [&](int64_t i) {
      if (i < 0 || i >= extents()[axis])
        raise(ErrorCode::out_of_range, {}, "index ", i, " outside of axis ", axis, " of extents ",
              to_string(extents()));
      offset = offset * extents()[axis++] + i;
    };
    (step(static_cast<int64_t>(index)), ...);
    return data_[offset];
  }
  /// The part that indices, ranges and `all` select, at least one of which is not an index: slice(x, i...),
  /// declared in array/slice.hpp. x(all, range(0, 3))
  template <class... I>
    requires(!(std::is_convertible_v<I, int64_t> && ...))
  auto operator()(I&&... index) const {
    return slice(*this, std::forward<I>(index)...);
  }
  /// The only element; Error{invalid_shape} when there is not exactly one.
  constexpr reference item() const {
    if (count_ != 1) raise(ErrorCode::invalid_shape, {}, "one element expected, not ", to_string(extents()));
    return data_[0];
  }
  constexpr std::span<T> span() const
    requires std::is_pointer_v<pointer>
  {
    return {data_, static_cast<std::size_t>(count_)};
  }
  /// The same elements under narrower extents; Error{invalid_shape} when they do not fit.
  template <class To>
  constexpr TensorView<T, To> as() const {
    return present_ ? TensorView<T, To>(data_, extents()) : TensorView<T, To>();
  }

 private:
  pointer data_{};
  Layout<S> layout_{};
  int64_t count_ = 0;
  bool present_ = false;
};

namespace detail {
[[noreturn, gnu::cold]] inline void wrong_element(DType is, DType expected) {
  raise(ErrorCode::invalid_type, {}, "tensor(", name_of(is), ") is not a tensor(", name_of(expected), ")");
}
}  // namespace detail

/// A view whose element type is known at run time. `Void` is const void for reading, void for writing.
template <class Void>
class ErasedView {
 public:
  constexpr ErasedView() = default;
  constexpr ErasedView(DType dtype, Void* data, std::span<const int64_t> extents)
      : ErasedView(dtype, data, Extents(extents), element_count(extents)) {}
  /// The same where the number of elements is known.
  constexpr ErasedView(DType dtype, Void* data, const Layout<AnyShape>& layout, int64_t count)
      : data_(data), layout_(layout), count_(count), dtype_(dtype) {}
  constexpr ErasedView(DType dtype, Void* data, const Extents& extents, int64_t count)
      : data_(data), layout_(extents), count_(count), dtype_(dtype) {}
  template <class T, class S>
    requires(std::is_const_v<Void> || !std::is_const_v<T>)
  constexpr ErasedView(const TensorView<T, S>& v)
      : data_(raw(v.data())),
        layout_(v.extents()),
        count_(v.size()),
        dtype_(v ? v.dtype() : DType::undefined) {}
  constexpr operator ErasedView<const void>() const
    requires(!std::is_const_v<Void>)
  {
    return dtype_ == DType::undefined ? ErasedView<const void>()
                                      : ErasedView<const void>(dtype_, data_, layout_, count_);
  }

  constexpr explicit operator bool() const { return dtype_ != DType::undefined; }
  constexpr DType dtype() const { return dtype_; }
  constexpr int rank() const { return layout_.rank(); }
  constexpr std::span<const int64_t> extents() const { return layout_.extents(); }
  constexpr int64_t extent(int axis) const { return extent_at(extents(), axis); }
  constexpr int64_t size() const { return count_; }
  constexpr bool empty() const { return count_ == 0; }
  constexpr Void* data() const { return data_; }
  /// Bytes that the elements occupy (packed types: rounded up to whole bytes; strings: their objects).
  constexpr int64_t bytes() const { return packed_bytes(count_, dtype_); }

  /// The view with its element type; Error{invalid_type} when it is another.
  template <class T>
  auto as() const {
    using E = std::conditional_t<std::is_const_v<Void>, const std::remove_const_t<T>, T>;
    if (dtype_ != dtype_of<std::remove_const_t<T>>)
      detail::wrong_element(dtype_, dtype_of<std::remove_const_t<T>>);
    return TensorView<E>(element_pointer<std::remove_const_t<T>>(data_), layout_, count_);
  }

 private:
  template <class P>
  static constexpr Void* raw(P p) {
    if constexpr (std::is_pointer_v<P>) return p;
    else return p.byte();
  }

  Void* data_ = nullptr;
  Layout<AnyShape> layout_{};
  int64_t count_ = 0;
  DType dtype_ = DType::undefined;
};

using AnyView = ErasedView<const void>;
using AnyOut = ErasedView<void>;

}  // namespace tenon::TENON_ABI

// Tensor: an owning, typed tensor.
#pragma once

#include <cstring>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/storage.hpp"
#include "tenon/tensor/view.hpp"

namespace tenon::TENON_ABI {

namespace detail {
/// A value as an element, as static_cast converts it, but defined for floats beyond an integer's range.
template <class T, class V>
T as_element(V&& value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> &&
                std::is_floating_point_v<std::remove_cvref_t<V>>)
    return truncate_to<T>(value);
  else return static_cast<T>(std::forward<V>(value));
}

template <class T, int Rank>
struct NestedList {
  using type = std::initializer_list<typename NestedList<T, Rank - 1>::type>;
};
template <class T>
struct NestedList<T, 0> {
  using type = T;
};

/// New memory for `count` elements, zeroed (strings: empty) unless `raw`.
template <class T>
Storage make_elements(int64_t count, Allocator& allocator, bool raw = false) {
  if constexpr (std::is_same_v<T, std::string>) {
    return Storage::make<std::string>(count, allocator);
  } else {
    const int64_t bytes = packed_bytes(count, dtype_of<T>);
    Storage s = Storage::allocate(static_cast<std::size_t>(bytes), allocator);
    if (!raw && bytes > 0) std::memset(s.as<void>(), 0, static_cast<std::size_t>(bytes));
    return s;
  }
}
}  // namespace detail

/// Evaluates to a tensor on request: expressions and strided slices (array/).
template <class E>
concept Lazy = requires(const E& e) {
  typename E::shape_type;
  e.eval();
};

/// A dense, row-major tensor that owns its elements, 64-byte aligned when it allocates them. S states the
/// extents (`Shape<1, 3, dyn, dyn>`) or leaves rank and extents to run time (`AnyShape`). Moves are cheap;
/// copies are made by `clone()` only. A const tensor shares its elements for reading only. Sub-byte elements
/// are packed as ONNX packs them.
template <class T, class S = AnyShape>
class Tensor {
  static_assert(!std::is_const_v<T>,
                "a Tensor owns what it holds; for reading only, take a TensorView<const T>");
  static_assert(Element<std::remove_const_t<T>>,
                "T is none of the 26 element types; of long and long long, only int64_t is one");

 public:
  using value_type = T;
  using shape_type = S;
  static constexpr int axes = S::rank > 0 ? S::rank : 0;
  using pointer = element_pointer_t<T>;
  using const_pointer = element_pointer_t<const T>;
  using reference = decltype(*std::declval<pointer>());
  using const_reference = decltype(*std::declval<const_pointer>());

  /// Static extents: zeros. Otherwise: every unknown extent is 0.
  Tensor() : Tensor(Layout<S>().extents()) {}
  /// Zeros of these extents. Error{invalid_shape} when they do not fit S, are negative, or overflow.
  explicit Tensor(std::span<const int64_t> extents, Allocator& allocator = default_allocator())
      : layout_(extents),
        count_(element_count(extents)),
        storage_(detail::make_elements<T>(count_, allocator)) {}
  explicit Tensor(const Extents& extents) : Tensor(std::span<const int64_t>(extents)) {}
  /// Extents, then as many values in row-major order: Tensor<float>({2, 2}, {1, 2, 3, 4}).
  Tensor(const Extents& extents, std::initializer_list<T> values)
      : Tensor(extents, values.begin(), values.end()) {}
  Tensor(const Extents& extents, std::span<const T> values) : Tensor(extents, values.begin(), values.end()) {}
  template <std::input_iterator I>
  Tensor(const Extents& extents, I first, I last) : Tensor(std::span<const int64_t>(extents)) {
    int64_t n = 0;
    for (; first != last && n < count_; ++first) data()[n++] = detail::as_element<T>(*first);
    if (n != count_ || first != last)
      raise(ErrorCode::invalid_shape, "Tensor", "extents ", to_string(extents), " need ", count_,
            " values, not ", first != last ? "more" : "fewer");
  }
  /// Takes over the buffer of a vector.
  Tensor(const Extents& extents, std::vector<T>&& values)
    requires(std::is_pointer_v<pointer> && !std::is_same_v<T, bool>)
      : layout_(extents), count_(element_count(extents)) {
    if (static_cast<int64_t>(values.size()) != count_)
      raise(ErrorCode::invalid_shape, "Tensor", "extents ", to_string(extents), " need ", count_,
            " values, not ", values.size());
    storage_ = Storage::take(std::move(values));
  }
  /// Nested lists, one level per axis: Tensor<float, Shape<2, 2>> t{{1, 2}, {3, 4}}.
  Tensor(typename detail::NestedList<T, axes>::type values)
    requires(S::rank >= 0)
  {
    std::array<int64_t, axes> extents{};
    measure<0>(values, extents);
    layout_ = Layout<S>(extents);
    count_ = element_count(extents);
    storage_ = detail::make_elements<T>(count_, default_allocator());
    int64_t at = 0;
    fill<0>(values, extents, at);
  }

  /// Uninitialised elements (strings are empty).
  [[nodiscard]] static Tensor uninitialized(std::span<const int64_t> extents,
                                            Allocator& allocator = default_allocator()) {
    const int64_t count = element_count(extents);
    return Tensor(detail::make_elements<T>(count, allocator, true), extents);
  }
  /// The elements that `storage` holds, shared with it. Error{invalid_shape} when it is too small,
  /// {invalid_argument} when it may only be read, or its elements are not aligned.
  [[nodiscard]] static Tensor from_storage(Storage storage, std::span<const int64_t> extents) {
    if (storage && !storage.writable())
      raise(ErrorCode::invalid_argument, "Tensor", "memory that may only be read is no tensor's own");
    const auto bytes = static_cast<std::size_t>(packed_bytes(element_count(extents), dtype()));
    if (storage.size_bytes() < bytes || (bytes > 0 && !storage))
      raise(ErrorCode::invalid_shape, "Tensor", "storage too small for ", to_string(extents));
    if (reinterpret_cast<std::uintptr_t>(storage.data()) % alignof(T) != 0)
      raise(ErrorCode::invalid_argument, "Tensor", "the memory is not aligned for ", name_of(dtype()));
    return Tensor(std::move(storage), extents);
  }

  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  /// A moved-from tensor holds nothing: no elements, default extents, an absent view.
  Tensor(Tensor&& o) noexcept
      : layout_(std::exchange(o.layout_, {})),
        count_(std::exchange(o.count_, 0)),
        storage_(std::move(o.storage_)) {}
  Tensor& operator=(Tensor&& o) noexcept {
    layout_ = std::exchange(o.layout_, {});
    count_ = std::exchange(o.count_, 0);
    storage_ = std::move(o.storage_);
    return *this;
  }
  /// The elements of an expression or a slice (array/). They are written into this tensor's memory, without
  /// another copy, if it has their extents, no other handle shares it, and no element is read after it has
  /// been written; otherwise they get memory of their own. Error{invalid_shape} if this type states other
  /// extents. y = x * w + b
  template <class E>
    requires requires(const E& e, Tensor& t) { e.write_to(t); }
  Tensor& operator=(const E& e) {
    e.write_to(*this);
    return *this;
  }
  /// From a tensor of narrower extents.
  template <class From>
    requires(!std::is_same_v<From, S> && widens<From, S>())
  Tensor(Tensor<T, From>&& o) : layout_(o.extents()), count_(o.size()), storage_(std::move(o).storage()) {}

  /// A copy with elements of its own; of a moved-from tensor, a default-constructed one.
  [[nodiscard]] Tensor clone(Allocator& allocator = default_allocator()) const {
    if (!storage_) return {};
    Tensor t = uninitialized(extents(), allocator);
    if constexpr (std::is_same_v<T, std::string>)
      for (int64_t i = 0; i < count_; ++i) t.data()[i] = data()[i];
    else if (count_ > 0)
      std::memcpy(t.storage_.template as<void>(), storage_.data(),
                  static_cast<std::size_t>(packed_bytes(count_, dtype())));
    return t;
  }

  static constexpr DType dtype() { return dtype_of<T>; }
  int rank() const { return layout_.rank(); }
  std::span<const int64_t> extents() const { return layout_.extents(); }
  /// The extent of an axis; negative axes count from the end. Error{out_of_range}.
  int64_t extent(int axis) const { return extent_at(extents(), axis); }
  int64_t size() const { return count_; }
  bool empty() const { return count_ == 0; }

  // A tensor's storage is writable, so element access does not check.
  pointer data() { return element_pointer<T>(const_cast<void*>(storage_.data())); }
  const_pointer data() const { return element_pointer<T>(storage_.data()); }
  pointer begin() { return data(); }
  pointer end() { return data() + count_; }
  const_pointer begin() const { return data(); }
  const_pointer end() const { return data() + count_; }
  reference operator[](int64_t i) { return data()[i]; }
  const_reference operator[](int64_t i) const { return data()[i]; }
  template <class... I>
    requires(std::is_convertible_v<I, int64_t> && ...)
  reference operator()(I... index) {
    return view()(index...);
  }
  template <class... I>
    requires(std::is_convertible_v<I, int64_t> && ...)
  const_reference operator()(I... index) const {
    return view()(index...);
  }
  /// A part of the tensor, see TensorView. x(all, range(0, 3)) = y
  template <class... I>
    requires(!(std::is_convertible_v<I, int64_t> && ...))
  auto operator()(I&&... index) & {
    return slice(view(), std::forward<I>(index)...);
  }
  template <class... I>
    requires(!(std::is_convertible_v<I, int64_t> && ...))
  auto operator()(I&&... index) const& {
    return slice(view(), std::forward<I>(index)...);
  }
  template <class... I>
    requires(!(std::is_convertible_v<I, int64_t> && ...))
  auto operator()(I&&... index) && = delete;  // the memory would end with the tensor
  const_reference item() const { return view().item(); }

  TensorView<T, S> view() TENON_LIFETIME_BOUND {
    return storage_ ? TensorView<T, S>(data(), layout_, count_) : TensorView<T, S>();
  }
  TensorView<const T, S> view() const TENON_LIFETIME_BOUND {
    return storage_ ? TensorView<const T, S>(data(), layout_, count_) : TensorView<const T, S>();
  }
  template <class U, class To>
    requires(std::is_same_v<std::remove_const_t<U>, T> && std::is_const_v<U> && widens<S, To>())
  operator TensorView<U, To>() const TENON_LIFETIME_BOUND {
    return view();
  }
  template <class To>
    requires(widens<S, To>())
  operator TensorView<T, To>() TENON_LIFETIME_BOUND {
    return view();
  }

  /// The same elements under narrower extents, moved or viewed; Error{invalid_shape} when they do not fit.
  template <class To>
  Tensor<T, To> as() && {
    Layout<To> checked(extents());
    return Tensor<T, To>::from_storage(std::move(*this).storage(), checked.extents());
  }
  template <class To>
  TensorView<const T, To> as() const& TENON_LIFETIME_BOUND {
    return view().template as<To>();
  }
  template <class To>
      TensorView<T, To> as() & TENON_LIFETIME_BOUND {
    return view().template as<To>();
  }

  /// The memory, to share or to take over; of a const tensor, for reading only.
  const Storage& storage() & { return storage_; }
  Storage storage() const& { return storage_.read_only(); }
  Storage storage() && {
    layout_ = {};
    count_ = 0;
    return std::move(storage_);
  }

 private:
  Tensor(Storage storage, std::span<const int64_t> extents)
      : layout_(extents), count_(element_count(extents)), storage_(std::move(storage)) {}

  template <int Axis, class List>
  static void measure(const List& list, std::array<int64_t, axes>& extents) {
    if constexpr (Axis < S::rank) {
      extents[Axis] = static_cast<int64_t>(list.size());
      if constexpr (Axis + 1 < S::rank)
        if (list.size() > 0) measure<Axis + 1>(*list.begin(), extents);
    }
  }
  template <int Axis, class List>
  void fill(const List& list, const std::array<int64_t, axes>& extents, int64_t& at) {
    if constexpr (Axis == S::rank) {
      data()[at++] = list;
    } else {
      if (static_cast<int64_t>(list.size()) != extents[Axis])
        raise(ErrorCode::invalid_shape, "Tensor", "nested lists of unequal lengths");
      for (const auto& item : list) fill<Axis + 1>(item, extents, at);
    }
  }

  Layout<S> layout_{};
  int64_t count_ = 0;
  Storage storage_;
};

}  // namespace tenon::TENON_ABI

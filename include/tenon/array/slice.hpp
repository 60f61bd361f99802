// Parts of tensors: slice(x, all, range(0, 3)), by an index or a range for each axis from the first on.
//
// One rule: a cut through leading axes only is a view, any other one is strided, and the type tells which.
//
//     slice(x, 2)                  DenseSlice: row 2, a TensorView, which only a Tensor made of it copies
//     slice(x, range(0, 3))        DenseSlice: the first three rows
//     slice(x, 1, range(0, 3))     DenseSlice: within row 1
//     slice(x, all, range(0, 3))   StridedSlice: three columns. It refers to x too, and is copied where dense
//                                  elements are needed: as a Tensor, and as an operand of arithmetic.
//
// Unless all are indices, x(all, range(0, 3)) is equivalent. Assignment writes into x: slice(x, 2) = 0.0f;
// slice(x, all, range(0, 3)) = y; slice(x, 0) += slice(x, 1). Neither outlives x's memory.
// Error{out_of_range} names the index and the axis.
#pragma once

#include <algorithm>
#include <limits>

#include "tenon/array/arithmetic.hpp"
#include "tenon/op/families/movement.hpp"
#include "tenon/tensor/value.hpp"

namespace tenon::TENON_ABI {

namespace array_detail {

/// The whole axis. As a function: whether all bools are true.
struct All {
  template <Array A>
    requires std::is_same_v<element_of<A>, bool>
  constexpr bool operator()(const A& x) const {
    const auto& t = op::ready(x);
    if (!present(t)) raise(ErrorCode::invalid_shape, "all", "the tensor holds nothing");
    return std::find(t.begin(), t.end(), false) == t.end();
  }
};
/// A new axis of extent 1.
struct NewAxis {};
/// Elements from `begin` up to, but excluding, `end`; `Extent` of them, if known at compile time.
template <int64_t Extent = dyn>
struct Range {
  int64_t begin, end;
  bool open = false;  // up to the end
};
/// Every step-th of them.
struct Stepped : Range<> {
  int64_t step;
};
/// A bound as an int64; an unsigned one beyond int64 stays beyond every axis.
template <std::integral I>
constexpr int64_t bound(I i) {
  const auto b = static_cast<int64_t>(i);
  return std::is_unsigned_v<I> && b < 0 ? std::numeric_limits<int64_t>::max() : b;
}

}  // namespace array_detail

/// The whole axis of a slice, x(all, 0), and all of the elements, all(x < 1).
inline constexpr array_detail::All all;
inline constexpr array_detail::NewAxis newaxis;

/// The indices from `begin` up to, but excluding, `end`. Negative ones count from the end of the axis;
/// range(2, all) extends to the end. With a step, every step-th index: range(-1, all, -1) goes backwards to
/// the first.
template <std::integral B, std::integral E>
constexpr array_detail::Range<> range(B begin, E end) {
  return {array_detail::bound(begin), array_detail::bound(end)};
}
template <std::integral B>
constexpr array_detail::Range<> range(B begin, array_detail::All) {
  return {array_detail::bound(begin), 0, true};
}
template <std::integral B, std::integral E>
constexpr array_detail::Stepped range(B begin, E end, int64_t step) {
  return {range(begin, end), step};
}
template <std::integral B>
constexpr array_detail::Stepped range(B begin, array_detail::All, int64_t step) {
  return {range(begin, all), step};
}
/// The same with bounds, and hence an extent, known at compile time: range<0, 3>().
template <int64_t Begin, int64_t End>
constexpr auto range() {
  static_assert(Begin >= 0 && Begin <= End, "a range of the compiler's has 0 <= begin <= end");
  return array_detail::Range<End - Begin>{Begin, End};
}

namespace array_detail {

enum class Cut { index, all, range, stepped, axis };
template <class I>
inline constexpr bool is_range = false;
template <int64_t E>
inline constexpr bool is_range<Range<E>> = true;

template <class I>
concept CutSpec = std::is_integral_v<I> || std::is_same_v<I, All> || std::is_same_v<I, NewAxis> ||
                  std::is_same_v<I, Stepped> || is_range<I>;

template <class I>
inline constexpr Cut cut_of = std::is_integral_v<I>        ? Cut::index
                              : std::is_same_v<I, All>     ? Cut::all
                              : std::is_same_v<I, NewAxis> ? Cut::axis
                              : std::is_same_v<I, Stepped> ? Cut::stepped
                                                           : Cut::range;

/// Whether the cut part is dense: indices, then at most one range, then whole axes.
template <class... I>
constexpr bool dense_cut() {
  bool dense = true, whole = false;
  for (Cut c : {Cut::axis, cut_of<I>...}) {
    if (c == Cut::axis) continue;
    if (c == Cut::stepped || (whole && c != Cut::all)) dense = false;
    whole |= c != Cut::index;
  }
  return dense;
}
/// The number of axes that are named.
template <class... I>
constexpr int named_axes() {
  return (0 + ... + (cut_of<I> != Cut::axis));
}

/// The extent that a cut gives an axis of extent `e`, as far as known at compile time.
template <class I>
struct CutExtent {
  static constexpr int64_t of(int64_t e) { return std::is_same_v<I, All> ? e : dyn; }
};
template <int64_t E>
struct CutExtent<Range<E>> {
  static constexpr int64_t of(int64_t) { return E; }
};

/// The static extents of a tensor of extents S that is cut by I….
template <class S, class... I>
struct CutShape {
  static constexpr int rank = S::rank - named_axes<I...>() + (0 + ... + (cut_of<I> != Cut::index));
  static_assert(S::rank >= named_axes<I...>(), "more indices than axes");
  static constexpr auto extents = [] {
    std::array<int64_t, static_cast<std::size_t>(rank)> e{};
    std::size_t from = 0, to = 0;
    [[maybe_unused]] const auto step = [&]<class Spec>(Spec*) {
      if (cut_of<Spec> == Cut::axis) e[to++] = 1;
      else if (cut_of<Spec> == Cut::index) ++from;
      else e[to++] = CutExtent<Spec>::of(S::extents[from++]);
    };
    (step(static_cast<I*>(nullptr)), ...);
    while (to < e.size()) e[to++] = S::extents[from++];
    return e;
  }();
  template <std::size_t... K>
  static Shape<extents[K]...> shape(std::index_sequence<K...>);
  using type = decltype(shape(std::make_index_sequence<static_cast<std::size_t>(rank)>{}));
};
template <class... I>
struct CutShape<AnyShape, I...> {
  using type = AnyShape;
};

/// The location of a part's elements.
struct Place {
  Extents extents, strides;
  int64_t offset = 0;
};

[[noreturn, gnu::cold]] inline void raise_cut(std::string_view what, int axis,
                                              std::span<const int64_t> extents) {
  raise(ErrorCode::out_of_range, "slice", what, " outside of axis ", axis, " of extents ",
        to_string(extents));
}

/// Cuts a tensor axis by axis.
struct Cutter {
  std::span<const int64_t> extents, strides;
  // Without elements, all parts begin at the same place: extents and strides may be too large to multiply.
  bool empty = std::ranges::find(extents, 0) != extents.end();
  Place place{};
  int axis = 0;

  int64_t extent() const {
    if (axis >= static_cast<int>(extents.size()))
      raise(ErrorCode::out_of_range, "slice", "more indices than axes of extents ", to_string(extents));
    return extents[static_cast<std::size_t>(axis)];
  }
  int64_t stride() const { return strides[static_cast<std::size_t>(axis)]; }
  void keep(int64_t start, int64_t count, int64_t step) {
    if (count > 0) advance(start);
    place.extents.push_back(count);
    place.strides.push_back(count > 1 && !empty ? step * stride() : stride());
    ++axis;
  }
  void advance(int64_t start) { place.offset += empty ? 0 : start * stride(); }
  void cut(All) { keep(0, extent(), 1); }
  void cut(NewAxis) {
    place.extents.push_back(1);
    place.strides.push_back(0);
  }
  void cut(std::integral auto i) {
    const int64_t e = extent(), index = bound(i);
    if (index < -e || index >= e) raise_cut(str_cat("index ", +i), axis, extents);
    advance(index < 0 ? index + e : index);
    ++axis;
  }
  template <int64_t E>
  void cut(const Range<E>& r) {
    const int64_t e = extent();
    const int64_t begin = r.begin < 0 ? r.begin + e : r.begin, end = r.open      ? e
                                                                     : r.end < 0 ? r.end + e
                                                                                 : r.end;
    if (begin < 0 || begin > e || end < begin || end > e) raise_range(r.begin, r.end, r.open);
    keep(begin, end - begin, 1);
  }
  void cut(const Stepped& r) {
    const int64_t e = extent();
    if (r.step == 0) raise(ErrorCode::invalid_argument, "slice", "the step on axis ", axis, " is 0");
    if (r.step > 0) {
      const int64_t begin = r.begin < 0 ? r.begin + e : r.begin, end = r.open      ? e
                                                                       : r.end < 0 ? r.end + e
                                                                                   : r.end;
      if (begin < 0 || begin > e || end < begin || end > e) raise_range(r.begin, r.end, r.open);
      keep(begin, begin == end ? 0 : (end - begin - 1) / r.step + 1, r.step);
    } else {
      const int64_t begin = r.begin < 0 ? r.begin + e : r.begin, end = r.open      ? -1
                                                                       : r.end < 0 ? r.end + e
                                                                                   : r.end;
      if (begin < -1 || begin >= e || end > begin || end < -1) raise_range(r.begin, r.end, r.open);
      const uint64_t back = uint64_t{0} - static_cast<uint64_t>(r.step);  // -INT64_MIN does not fit int64
      const auto count =
          begin == end ? 0 : static_cast<int64_t>(static_cast<uint64_t>(begin - end - 1) / back) + 1;
      keep(begin, count, r.step);
    }
  }
  [[noreturn, gnu::cold]] void raise_range(int64_t begin, int64_t end, bool open) const {
    raise_cut(str_cat("range [", begin, ",", open ? std::string("all") : std::to_string(end), ")"), axis,
              extents);
  }
};

template <class... I>
Place place_of(std::span<const int64_t> extents, std::span<const int64_t> strides, const I&... i) {
  Cutter c{extents, strides};
  (c.cut(i), ...);
  while (c.axis < static_cast<int>(extents.size())) c.cut(All{});
  return c.place;
}

/// The strides for reading elements of extents `from` for a result of extents `to`. Error{invalid_shape} if
/// they do not broadcast to it.
inline Extents broadcast_strides(std::span<const int64_t> from, std::span<const int64_t> to) {
  Extents strides = Extents::filled(static_cast<int>(to.size()), 0);
  const auto ahead = static_cast<int64_t>(to.size()) - static_cast<int64_t>(from.size());
  uint64_t step = 1;  // wraps if there is no element
  for (auto k = static_cast<int64_t>(from.size()); k-- > 0;) {
    const int64_t e = from[static_cast<std::size_t>(k)];
    const bool fits = k + ahead >= 0 ? e == 1 || e == to[static_cast<std::size_t>(k + ahead)] : e == 1;
    if (!fits)
      raise(ErrorCode::invalid_shape, "slice", "a part of extents ", to_string(to),
            " cannot be given elements of extents ", to_string(from));
    if (k + ahead >= 0 && e != 1) strides[k + ahead] = static_cast<int64_t>(step);
    step *= static_cast<uint64_t>(e);
  }
  return strides;
}

/// kernels::move for one element type, so that no other mover is compiled.
template <class T>
void move(T* to, std::span<const int64_t> to_strides, const T* from, std::span<const int64_t> from_strides,
          std::span<const int64_t> extents) {
  if (element_count(extents) == 0) return;  // the others' product may overflow
  const auto plan = kernels::detail::copy_plan(to_strides.data(), from_strides.data(), extents.data(),
                                               static_cast<int>(extents.size()));
  if constexpr (std::is_same_v<T, std::string>)
    kernels::detail::run_copy(plan, kernels::detail::ElementMover<T>{to, from});
  else
    kernels::detail::run_copy(plan, kernels::detail::BlockMover<sizeof(T)>{
                                        reinterpret_cast<char*>(to), reinterpret_cast<const char*>(from)});
}

/// Whether a part with at least `count` elements overlaps the `count` elements from `begin` on.
template <class T>
bool overlaps(const T* data, std::span<const int64_t> extents, std::span<const int64_t> strides,
              const T* begin, int64_t count) {
  if (count == 0) return false;
  int64_t below = 0, above = 0;  // offsets of the part's first and last element in memory
  for (std::size_t k = 0; k < extents.size(); ++k)
    (strides[k] < 0 ? below : above) += (extents[k] - 1) * strides[k];
  return std::less<>{}(data + below, begin + count) && std::less_equal<>{}(begin, data + above);
}

/// Whether tensors of static extents From may broadcast to To.
template <class From, class To>
constexpr bool may_stretch() {
  if constexpr (From::rank >= 0 && To::rank >= 0)
    for (int k = 0; k < From::rank; ++k) {
      const int64_t e = From::extents[static_cast<std::size_t>(From::rank - 1 - k)];
      const int64_t to = k < To::rank ? To::extents[static_cast<std::size_t>(To::rank - 1 - k)] : 1;
      if (e != dyn && e != 1 && to != dyn && e != to) return false;
    }
  return true;
}

/// Exchanges the elements of two parts. Error{invalid_shape} if their extents differ.
template <class P>
void exchange(P& a, P& b) {
  if (!std::ranges::equal(a.extents(), b.extents()))
    raise(ErrorCode::invalid_shape, "swap", "parts of extents ", to_string(a.extents()), " and ",
          to_string(b.extents()));
  const auto old = tenon::eval(a);
  a = b;
  b = old;
}

/// Copies the elements of y, a number or an Array, broadcast, to a part of type T and static extents S.
template <class T, class S, class Y>
void assign(T* data, std::span<const int64_t> extents, std::span<const int64_t> strides, const Y& y) {
  if constexpr (Scalar<Y>) {
    const Number<T> x = number<T>("slice", y);
    const Extents still = Extents::filled(static_cast<int>(extents.size()), 0);
    move(data, strides, &x.value, still, extents);
  } else if constexpr (!any_invalid<Y>) {
    static_assert(std::is_same_v<element_of<Y>, T>, "a part is given elements of another type");
    static_assert(may_stretch<typename Source<Y>::shape, S>(), "a part is given elements of other extents");
    const auto& values = op::ready(y);
    if (!present(values))
      raise(ErrorCode::invalid_shape, "slice", "a part is given a tensor that holds nothing");
    const Extents from = broadcast_strides(values.extents(), extents);
    if (element_count(extents) == 0) return;  // the others' product may overflow
    const auto move_from = [&](const T* p) { move(data, strides, p, from, extents); };
    const T* const read = values.data();
    if (!overlaps<T>(data, extents, strides, read, values.size())) return move_from(read);
    const auto copy = tenon::eval(TensorView<const T, Shape<dyn>>(read, {values.size()}));
    move_from(copy.data());
  }
}

}  // namespace array_detail

/// A dense part of a tensor: a view whose assignment writes elements. A TensorView<T, S> made from it can be
/// rebound. swap(a, b) exchanges elements; std::swap(a, b) does not, because it copies the view of a only.
template <class T, class S>
class DenseSlice : public TensorView<T, S> {
 public:
  using TensorView<T, S>::TensorView;
  DenseSlice(const DenseSlice&) = default;

  /// Error{invalid_shape} if y does not broadcast to this part. slice(x, 0) = slice(x, 1) + 1.0f
  template <class Y>
    requires(Array<Y> || array_detail::Scalar<Y>)
  DenseSlice& operator=(const Y& y) {
    if constexpr (!array_detail::any_invalid<Y>) set(y);
    return *this;
  }
  DenseSlice& operator=(const DenseSlice& y) {
    set(static_cast<const TensorView<T, S>&>(y));
    return *this;
  }
  friend void swap(DenseSlice a, DenseSlice b) { array_detail::exchange(a, b); }
  /// A part is never absent. The element of a tensor of bools is x(i), or slice(x, i).item().
  explicit operator bool() const = delete;

  /// A copy of the elements.
  template <class To>
    requires(widens<S, To>())
  operator Tensor<std::remove_const_t<T>, To>() const {
    return tenon::eval(*this);
  }
  operator Value() const { return tenon::eval(*this); }
  /// t = these elements, see Tensor::operator=.
  template <class U, class To>
  void write_to(Tensor<U, To>& t) const {
    array_detail::replace(
        t, *this, [this](auto* to) { return array_detail::disturbed(*this, to, this->size()); },
        [this](auto* to) { std::copy(this->begin(), this->end(), to); });
  }

 private:
  template <class Y>
  void set(const Y& y) {
    static_assert(!std::is_const_v<T>, "a part of a const tensor is not assigned to");
    if constexpr (requires { y.write(this->data()); })
      if (std::ranges::equal(y.extents(), this->extents())) {
        static_assert(std::is_same_v<typename Y::value_type, T>, "a part is given elements of another type");
        return y.write(this->data());
      }
    array_detail::assign<T, S>(this->data(), this->extents(), op::dense_strides(this->extents()), y);
  }
};

/// A part of a tensor whose elements are not contiguous. It refers to the tensor; conversion to a Tensor,
/// eval() and use as an operand copy its elements.
template <class T, class S>
class StridedSlice {
 public:
  using value_type = std::remove_const_t<T>;
  using shape_type = S;

  StridedSlice(T* data, const Layout<S>& layout, const Extents& strides)
      : data_(data), layout_(layout), strides_(strides) {}
  StridedSlice(const StridedSlice&) = default;

  int rank() const { return layout_.rank(); }
  std::span<const int64_t> extents() const { return layout_.extents(); }
  int64_t extent(int axis) const { return extent_at(extents(), axis); }
  int64_t size() const { return element_count(extents()); }
  /// The distances between elements along the axes.
  std::span<const int64_t> strides() const { return strides_; }
  /// The first element.
  T* data() const { return data_; }

  /// The elements as a new tensor.
  Tensor<value_type, S> eval() const {
    auto t = Tensor<value_type, S>::uninitialized(extents());
    copy_to(t.data());
    return t;
  }
  /// The only element; Error{invalid_shape} unless there is exactly one.
  value_type item() const { return eval().item(); }
  template <class To>
    requires(widens<S, To>())
  operator Tensor<value_type, To>() const {
    return eval();
  }
  /// t = these elements, see Tensor::operator=.
  template <class U, class To>
  void write_to(Tensor<U, To>& t) const {
    array_detail::replace(
        t, *this,
        [this](auto* to) {
          return array_detail::overlaps<value_type>(data_, extents(), strides_, to, size());
        },
        [this](auto* to) { copy_to(to); });
  }

  /// The element at these indices, one per axis; Error{out_of_range} outside.
  template <std::integral... I>
  T& operator()(I... index) const {
    static_assert(S::rank < 0 || S::rank == static_cast<int>(sizeof...(I)), "one index for each axis");
    if (static_cast<int>(sizeof...(I)) != rank())
      raise(ErrorCode::out_of_range, {}, sizeof...(I), " indices for rank ", rank());
    return *slice(*this, index...).data();
  }
  /// A part of this part, which refers to the same tensor. x(all, range(0, 3))(0, all)
  template <class... I>
    requires(!(std::integral<std::remove_cvref_t<I>> && ...))
  auto operator()(I&&... index) const {
    return slice(*this, std::forward<I>(index)...);
  }

  /// Error{invalid_shape} if y does not broadcast to this part. slice(x, all, 0) = 1.0f
  template <class Y>
    requires(Array<Y> || array_detail::Scalar<Y>)
  StridedSlice& operator=(const Y& y) {
    static_assert(!std::is_const_v<T>, "a part of a const tensor is not assigned to");
    array_detail::assign<value_type, S>(data_, extents(), strides_, y);
    return *this;
  }
  StridedSlice& operator=(const StridedSlice& y) { return operator= <StridedSlice>(y); }
  friend void swap(StridedSlice a, StridedSlice b) { array_detail::exchange(a, b); }
  /// The elements become Op(*this, y): +=, -=, …
  template <class Op, class Y>
  void update(const Y& y) {
    *this = array_detail::chain<Op>(*this, y);
  }

 private:
  void copy_to(value_type* to) const {
    array_detail::move<value_type>(to, op::dense_strides(extents()), data_, strides_, extents());
  }

  T* data_;
  Layout<S> layout_;
  Extents strides_;
};

namespace array_detail {

template <class T, class S>
struct Source<DenseSlice<T, S>> : Source<TensorView<T, S>> {};
template <class T, class S>
struct Source<StridedSlice<T, S>> {
  using element = std::remove_const_t<T>;
  using shape = S;
  static Held<element, S> hold(const StridedSlice<T, S>& s) { return s.eval(); }
};

}  // namespace array_detail

/// The part of x given by an index, a range, `all` or `newaxis` for each axis; remaining axes stay whole. See
/// the top of this file. slice(x, 0, range(1, 3)) of (2,4,5) gives a DenseSlice of (2,5).
template <class T, class S, array_detail::CutSpec... I>
auto slice(const TensorView<T, S>& x, const I&... i) {
  static_assert(!PackedElement<std::remove_const_t<T>>, "a part of packed elements may begin within a byte");
  using To = typename array_detail::CutShape<S, I...>::type;
  if (!x) raise(ErrorCode::invalid_shape, "slice", "an absent view has no parts");
  const auto place = array_detail::place_of(x.extents(), op::dense_strides(x.extents()), i...);
  if constexpr (array_detail::dense_cut<I...>())
    return DenseSlice<T, To>(x.data() + place.offset, place.extents);
  else return StridedSlice<T, To>(x.data() + place.offset, Layout<To>(place.extents), place.strides);
}
template <class T, class S, array_detail::CutSpec... I>
auto slice(Tensor<T, S>& x, const I&... i) {
  return slice(x.view(), i...);
}
template <class T, class S, array_detail::CutSpec... I>
auto slice(const Tensor<T, S>& x, const I&... i) {
  return slice(x.view(), i...);
}
template <class T, class S, array_detail::CutSpec... I>
auto slice(Tensor<T, S>&& x, const I&... i) = delete;  // its elements would be gone
/// A part of a part is strided too.
template <class T, class S, array_detail::CutSpec... I>
auto slice(const StridedSlice<T, S>& x, const I&... i) {
  using To = typename array_detail::CutShape<S, I...>::type;
  const auto place = array_detail::place_of(x.extents(), x.strides(), i...);
  return StridedSlice<T, To>(x.data() + place.offset, Layout<To>(place.extents), place.strides);
}

namespace op {

template <class T, class S>
struct Operand<DenseSlice<T, S>> : Operand<TensorView<T, S>> {};

}  // namespace op
}  // namespace tenon::TENON_ABI

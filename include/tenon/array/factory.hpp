// Factories of tensors: zeros, ones, full, arange, linspace, eye, and lists whose extents the compiler
// deduces.
//
//     zeros<float, Shape<2, 3>>()           Tensor<float, Shape<2, 3>>
//     zeros<float>({rows, 3})               Tensor<float, Shape<dyn, dyn>>
//     zeros<float, Shape<dyn, 3>>({rows, 3})
//     zeros<float>(x.extents())             Tensor<float>: rank at run time
//     array<float>({{1, 2}, {3, 4}})        Tensor<float, Shape<2, 2>>
//
// Extents that are negative, do not fit the shape, or whose product overflows int64 are an
// Error{invalid_shape} with the function's name.
#pragma once

#include <cmath>

#include "tenon/array/shape.hpp"
#include "tenon/base/convert.hpp"

namespace tenon::TENON_ABI {

/// The element types of number sequences: integers of whole bytes, double, float, float16 and bfloat16.
template <class T>
concept Countable = Element<T> && !std::is_same_v<T, bool> &&
                    (std::is_arithmetic_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>);

namespace array_detail {

template <class T, class S>
Tensor<T, S> make_full(std::string_view place, std::span<const int64_t> extents, const T& value) {
  auto t = named(place, [&] { return Tensor<T, S>::uninitialized(extents); });
  std::fill(t.begin(), t.end(), value);
  return t;
}

/// The number of k >= 0 with start + k * step before stop; Error{invalid_argument} if it is infinite.
template <class T>
int64_t count_steps(T start, T stop, T step) {
  const auto refuse = [](const char* why) { raise(ErrorCode::invalid_argument, "arange", why); };
  if constexpr (std::is_integral_v<T>) {
    if (step == 0) refuse("a step of 0");
    if (step > 0 ? start >= stop : start <= stop) return 0;
    const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(stop),
               by = static_cast<uint64_t>(step);
    const uint64_t n = (step > 0 ? to - from - 1 : from - to - 1) / (step > 0 ? by : 0 - by) + 1;
    if (n > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      refuse("more numbers than int64 counts");
    return static_cast<int64_t>(n);
  } else {
    const auto from = static_cast<double>(start), to = static_cast<double>(stop),
               by = static_cast<double>(step);
    if (!std::isfinite(from) || !std::isfinite(to) || !std::isfinite(by))
      refuse("bounds and step are finite");
    if (by == 0) refuse("a step of 0");
    const double n = std::ceil((to - from) / by);
    if (!(n < 0x1p62)) refuse("more numbers than int64 counts");
    return n > 0 ? static_cast<int64_t>(n) : 0;
  }
}

}  // namespace array_detail

/// Every element is 0, false or "". zeros<float, Shape<2, 3>>(), zeros<float>({2, 3}).
template <Element T, array_detail::Static S>
[[nodiscard]] Tensor<T, S> zeros() {
  return {};
}
template <Element T, std::size_t R>
[[nodiscard]] Tensor<T, DynamicShape<R>> zeros(const int64_t (&extents)[R]) {
  return array_detail::named("zeros", [&] { return Tensor<T, DynamicShape<R>>(std::span(extents)); });
}
template <Element T, class S = AnyShape>
[[nodiscard]] Tensor<T, S> zeros(const Extents& extents) {
  return array_detail::named("zeros", [&] { return Tensor<T, S>(std::span<const int64_t>(extents)); });
}

/// Every element is `value`, converted to T as static_cast does; a float beyond an integer's range, as cast
/// does. full<int8_t>({2, 3}, 7).
template <Element T, array_detail::Static S, class V>
[[nodiscard]] Tensor<T, S> full(const V& value) {
  return array_detail::make_full<T, S>("full", S::extents, tenon::detail::as_element<T>(value));
}
template <Element T, std::size_t R, class V>
[[nodiscard]] Tensor<T, DynamicShape<R>> full(const int64_t (&extents)[R], const V& value) {
  return array_detail::make_full<T, DynamicShape<R>>("full", extents, tenon::detail::as_element<T>(value));
}
template <Element T, class S = AnyShape, class V>
[[nodiscard]] Tensor<T, S> full(const Extents& extents, const V& value) {
  return array_detail::make_full<T, S>("full", extents, tenon::detail::as_element<T>(value));
}

/// Every element is 1 (true; 1 + 0i). ones<double>({3}).
template <Element T, array_detail::Static S>
[[nodiscard]] Tensor<T, S> ones() {
  return array_detail::make_full<T, S>("ones", S::extents, convert<T>(1.0f));
}
template <Element T, std::size_t R>
[[nodiscard]] Tensor<T, DynamicShape<R>> ones(const int64_t (&extents)[R]) {
  return array_detail::make_full<T, DynamicShape<R>>("ones", extents, convert<T>(1.0f));
}
template <Element T, class S = AnyShape>
[[nodiscard]] Tensor<T, S> ones(const Extents& extents) {
  return array_detail::make_full<T, S>("ones", extents, convert<T>(1.0f));
}

/// start, start + step, … up to, but excluding, stop: (N). Floats are computed as start + k * step in double
/// and rounded once, so that errors do not accumulate. arange(3, 9, 2) gives 3, 5, 7; arange<float>(0, 1,
/// 0.25f). Error{invalid_argument} for a step of 0, for bounds that are not finite, and for counts that
/// exceed int64.
template <Countable T>
[[nodiscard]] Tensor<T, Shape<dyn>> arange(T start, T stop, T step = T(1)) {
  const int64_t count = array_detail::count_steps(start, stop, step);
  auto t = array_detail::named("arange",
                               [&] { return Tensor<T, Shape<dyn>>::uninitialized(std::span(&count, 1)); });
  for (int64_t k = 0; k < count; ++k) {
    if constexpr (std::is_integral_v<T>)
      t[k] = static_cast<T>(static_cast<uint64_t>(start) +
                            static_cast<uint64_t>(k) * static_cast<uint64_t>(step));
    else t[k] = convert<T>(static_cast<double>(start) + static_cast<double>(k) * static_cast<double>(step));
  }
  return t;
}
/// 0, 1, … up to, but excluding, stop. arange(4) gives int32 0, 1, 2, 3.
template <Countable T>
[[nodiscard]] Tensor<T, Shape<dyn>> arange(T stop) {
  return arange(T(0), stop);
}
/// Arguments of mixed types are converted as in C++ arithmetic: arange(0, 1, 0.25) gives doubles.
template <class Stated = void, Countable A, Countable B, Countable C = A>
  requires(std::is_void_v<Stated> && !(std::is_same_v<A, B> && std::is_same_v<A, C>))
[[nodiscard]] auto arange(A start, B stop, C step = C(1)) {
  using T = std::common_type_t<A, B, C>;
  return arange<T>(static_cast<T>(start), static_cast<T>(stop), static_cast<T>(step));
}
/// The same for a static extent. arange<float, Shape<4>>() gives 0, 1, 2, 3.
template <Countable T, array_detail::Static S>
  requires(S::rank == 1)
[[nodiscard]] Tensor<T, S> arange() {
  constexpr int64_t count = S::extents[0];
  if constexpr (std::is_integral_v<T>)
    static_assert(count == 0 || std::in_range<T>(count - 1), "arange: T does not hold the last number");
  auto t = Tensor<T, S>::uninitialized(S::extents);
  for (int64_t k = 0; k < count; ++k) t[k] = convert<T>(k);
  return t;
}

namespace array_detail {

template <class T, class S>
Tensor<T, S> make_linspace(double first, double last, int64_t count) {
  if (count < 0) raise(ErrorCode::invalid_argument, "linspace", "a count of ", count);
  if (!std::isfinite(first) || !std::isfinite(last))
    raise(ErrorCode::invalid_argument, "linspace", "bounds are finite");
  auto t = named("linspace", [&] { return Tensor<T, S>::uninitialized(std::span(&count, 1)); });
  const double steps = count > 1 ? static_cast<double>(count - 1) : 1;
  for (int64_t k = 0; k < count; ++k)
    t[k] = convert<T>(std::lerp(first, last, static_cast<double>(k) / steps));
  return t;
}

}  // namespace array_detail

/// `count` numbers in equal steps from `first` to `last`, both included: (count). One number is `first`.
/// Steps are computed in double and rounded once. linspace(0, 1, 5) gives 0, 0.25, 0.5, 0.75, 1;
/// linspace<float>(0, 1, 5) is a Tensor<float, Shape<dyn>>, linspace<float, Shape<5>>(0, 1) a Tensor<float,
/// Shape<5>>. Error{invalid_argument} for a negative count and for bounds that are not finite.
template <Countable T = double>
  requires(!std::is_integral_v<T>)
[[nodiscard]] Tensor<T, Shape<dyn>> linspace(double first, double last, int64_t count) {
  return array_detail::make_linspace<T, Shape<dyn>>(first, last, count);
}
template <Countable T, array_detail::Static S>
  requires(!std::is_integral_v<T> && S::rank == 1)
[[nodiscard]] Tensor<T, S> linspace(double first, double last) {
  return array_detail::make_linspace<T, S>(first, last, S::extents[0]);
}

namespace array_detail {

template <class T, class S>
Tensor<T, S> make_eye(int64_t rows, int64_t columns, int64_t diagonal) {
  const int64_t extents[] = {rows, columns};
  auto t = named("eye", [&] { return Tensor<T, S>(std::span(extents)); });
  if (t.empty() || diagonal <= -rows || diagonal >= columns) return t;
  const T one = convert<T>(1.0f);
  for (int64_t i = diagonal < 0 ? -diagonal : 0; i < rows && i + diagonal < columns; ++i)
    t[i * columns + i + diagonal] = one;
  return t;
}

}  // namespace array_detail

/// 1 on a diagonal, 0 elsewhere. eye<float>(3), eye<float>(2, 3, 1), eye<float, Shape<3, 3>>(). A positive
/// diagonal lies above the main one.
template <Element T, array_detail::Static S>
  requires(S::rank == 2)
[[nodiscard]] Tensor<T, S> eye(int64_t diagonal = 0) {
  return array_detail::make_eye<T, S>(S::extents[0], S::extents[1], diagonal);
}
template <Element T>
[[nodiscard]] Tensor<T, Shape<dyn, dyn>> eye(int64_t rows, int64_t columns, int64_t diagonal = 0) {
  return array_detail::make_eye<T, Shape<dyn, dyn>>(rows, columns, diagonal);
}
template <Element T>
[[nodiscard]] Tensor<T, Shape<dyn, dyn>> eye(int64_t rows) {
  return array_detail::make_eye<T, Shape<dyn, dyn>>(rows, rows, 0);
}

/// A tensor with the lists' element type and extents. array({1, 2, 3}) is a
/// Tensor<int32_t, Shape<3>>, array<float>({{1, 2}, {3, 4}}) a Tensor<float, Shape<2, 2>>. Up to three axes;
/// for more, full or nested lists in Tensor's constructor.
template <Element T, std::size_t N>
[[nodiscard]] Tensor<T, Shape<static_cast<int64_t>(N)>> array(const T (&list)[N]) {
  auto t = Tensor<T, Shape<static_cast<int64_t>(N)>>::uninitialized(Shape<static_cast<int64_t>(N)>::extents);
  std::copy(std::begin(list), std::end(list), t.begin());
  return t;
}
template <Element T, std::size_t N, std::size_t M>
[[nodiscard]] Tensor<T, Shape<static_cast<int64_t>(N), static_cast<int64_t>(M)>> array(
    const T (&list)[N][M]) {
  using S = Shape<static_cast<int64_t>(N), static_cast<int64_t>(M)>;
  auto t = Tensor<T, S>::uninitialized(S::extents);
  auto to = t.begin();
  for (const auto& row : list) to = std::copy(std::begin(row), std::end(row), to);
  return t;
}
template <Element T, std::size_t N, std::size_t M, std::size_t K>
[[nodiscard]] Tensor<T, Shape<static_cast<int64_t>(N), static_cast<int64_t>(M), static_cast<int64_t>(K)>>
array(const T (&list)[N][M][K]) {
  using S = Shape<static_cast<int64_t>(N), static_cast<int64_t>(M), static_cast<int64_t>(K)>;
  auto t = Tensor<T, S>::uninitialized(S::extents);
  auto to = t.begin();
  for (const auto& matrix : list)
    for (const auto& row : matrix) to = std::copy(std::begin(row), std::end(row), to);
  return t;
}

}  // namespace tenon::TENON_ABI

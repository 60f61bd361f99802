// Bodies of elementwise.hpp: the loops of the functions in functions.hpp, and entry points.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "tenon/kernels/elementwise/blocks.hpp"
#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/kernels/elementwise/functions.hpp"
#include "tenon/kernels/elementwise/loops.hpp"
#include "tenon/kernels/elementwise/zip.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

/// The unsigned type of T's width.
template <class T>
using unsigned_of = std::make_unsigned_t<T>;
template <class T>
const unsigned_of<T>* as_unsigned(const T* p) {
  return reinterpret_cast<const unsigned_of<T>*>(p);
}

/// T's body in a row.
template <class T, class Row>
using body_of = std::conditional_t<std::is_integral_v<T>, typename Row::integer, typename Row::real>;

/// The loops of all functions, in the order of their ops.
template <class Op, class Make>
constexpr auto table_of(Make make) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return std::array { make.template operator()<static_cast<Op>(i)>()... };
  }(std::make_index_sequence<static_cast<std::size_t>(Op::op_count)>());
}

}  // namespace detail

template <auto op, class T>
constexpr bool has_function() {
  if constexpr (std::is_same_v<decltype(op), UnaryOp>)
    return !std::is_same_v<detail::body_of<T, decltype(detail::unary_row<op>())>, detail::None>;
  else return !std::is_same_v<detail::body_of<T, decltype(detail::binary_row<op>())>, detail::None>;
}

template <class Arch, UnaryOp op, class T>
constexpr UnaryLoop<T> unary_loop() {
  using Row = decltype(detail::unary_row<op>());
  using F = detail::body_of<T, Row>;
  if constexpr (std::is_same_v<F, detail::None>) return {Row::grain};
  else if constexpr (detail::by_panels<T, Row>)
    return {Row::grain, [](UnaryParams p, const T* x, T* y, int64_t n) {
              detail::map_narrow<Arch>(unary_loop<Arch, op, float>().run, p, x, y, n);
            }};
  else if constexpr (std::is_integral_v<T>)
    return {Row::grain, [](UnaryParams, const T* x, T* y, int64_t n) { detail::map<Arch>(x, y, n, F{}); }};
  else
    return {Row::grain, [](UnaryParams p, const T* x, T* y, int64_t n) {
              const detail::Constants<simd::batch<compute_t<T>, Arch>> k(p);
              detail::map<Arch>(x, y, n, [&](const auto& v) { return F{}(v, k); });
            }};
}
template <class Arch, class T>
UnaryLoop<T> unary_loop(UnaryOp op) {
  static constexpr auto table =
      detail::table_of<UnaryOp>([]<UnaryOp known>() { return unary_loop<Arch, known, T>(); });
  return table[static_cast<std::size_t>(op)];
}

template <class Arch, class T>
void clip_impl(const T* x, T* y, int64_t n, T low, T high) {
  if constexpr (std::is_integral_v<T>)
    detail::map<Arch>(x, y, n, [=](T v) {
      const T raised = v < low ? low : v;
      return raised > high ? high : raised;
    });
  else
    unary_loop<Arch, UnaryOp::clip, T>().run({static_cast<double>(low), static_cast<double>(high)}, x, y, n);
}

namespace detail {

// x^e for the exponents common in models; false for others.
template <class Arch, class T>
bool map_power(const T* x, T* y, int64_t n, T exponent) {
  using B = simd::batch<T, Arch>;
  const auto root = [](const B& v) {
    // Here pow turns -0 into 0 and -infinity into infinity.
    const B infinity(std::numeric_limits<T>::infinity());
    return simd::select(v == -infinity, infinity, simd::sqrt(v + B(T(0))));
  };
  if (exponent == 2) map<Arch>(x, y, n, [](const B& v) { return v * v; });
  else if (exponent == 3) map<Arch>(x, y, n, [](const B& v) { return v * v * v; });
  else if (exponent == T(0.5)) map<Arch>(x, y, n, root);
  else if (exponent == 1) map<Arch>(x, y, n, [](const B& v) { return v; });
  else if (exponent == -1) map<Arch>(x, y, n, [](const B& v) { return simd::div(B(T(1)), v); });
  else return false;
  return true;
}

template <class Arch, BinaryOp op, class T>
bool zip_real(const T* a, const T* b, T* c, const BroadcastPlan<2>& plan, int64_t begin, int64_t end) {
  if constexpr (op == BinaryOp::pow)
    if (plan.constant(1) && plan.dense(0) && map_power<Arch>(a + begin, c + begin, end - begin, *b))
      return true;
  using F = typename decltype(binary_row<op>())::real;
  zip_broadcast<Arch>(zip<Arch, F, T, T>, a, b, c, plan, begin, end);
  return true;
}

template <class Arch, class F, class T>
bool zip_integers(const T* a, const T* b, T* c, const BroadcastPlan<2>& plan, int64_t begin, int64_t end) {
  bool defined = true;
  if constexpr (std::is_invocable_v<F, T, T, bool&>)
    zip_panels<Arch>(a, b, plan, begin, end, [&](int64_t at, const T* x, const T* y, int64_t n) {
      zip_each<Arch, F>(x, y, c + at, n, defined);
    });
  else if constexpr (wraps<F> && std::is_signed_v<T>)
    zip_integers<Arch, F>(as_unsigned(a), as_unsigned(b), reinterpret_cast<unsigned_of<T>*>(c), plan, begin,
                          end);
  else zip_broadcast<Arch>(zip<Arch, F, T, T>, a, b, c, plan, begin, end);
  return defined;
}

}  // namespace detail

template <class Arch, BinaryOp op, class T>
constexpr BinaryLoop<T> binary_loop() {
  using Row = decltype(detail::binary_row<op>());
  using F = detail::body_of<T, Row>;
  if constexpr (std::is_same_v<F, detail::None>) return {Row::grain};
  else if constexpr (detail::by_panels<T, Row>)
    return {Row::grain,
            [](const T* a, const T* b, T* c, const BroadcastPlan<2>& plan, int64_t begin, int64_t end) {
              detail::zip_narrow<Arch>(
                  a, b, plan, begin, end, [c](int64_t at, const float* x, const float* y, int64_t n) {
                    alignas(64) float z[detail::map_panel];
                    binary_loop<Arch, op, float>().run(x, y, z, BroadcastPlan<2>::flat(n), 0, n);
                    simd::narrow<Arch>(z, c + at, n);
                  });
              return true;
            }};
  else if constexpr (std::is_integral_v<T>) return {Row::grain, detail::zip_integers<Arch, F, T>};
  else return {Row::grain, detail::zip_real<Arch, op, T>};
}
template <class Arch, class T>
BinaryLoop<T> binary_loop(BinaryOp op) {
  static constexpr auto table =
      detail::table_of<BinaryOp>([]<BinaryOp known>() { return binary_loop<Arch, known, T>(); });
  return table[static_cast<std::size_t>(op)];
}

template <class Arch, CompareOp op, class T>
void compare_of(const T* a, const T* b, bool* c, const BroadcastPlan<2>& plan, int64_t begin, int64_t end) {
  using enum CompareOp;
  if constexpr (simd::is_narrow<T>)
    detail::zip_narrow<Arch>(a, b, plan, begin, end,
                             [&](int64_t at, const float* x, const float* y, int64_t n) {
                               compare_of<Arch, op>(x, y, c + at, BroadcastPlan<2>::flat(n), 0, n);
                             });
  else if constexpr (op == greater) compare_of<Arch, less>(b, a, c, plan.swapped(), begin, end);
  else if constexpr (op == greater_equal) compare_of<Arch, less_equal>(b, a, c, plan.swapped(), begin, end);
  else if constexpr (op == equal && std::is_signed_v<T> && std::is_integral_v<T>)
    compare_of<Arch, op>(detail::as_unsigned(a), detail::as_unsigned(b), c, plan, begin, end);
  else
    detail::zip_broadcast<Arch>(detail::zip<Arch, detail::CompareFunction<op>, T, bool>, a, b, c, plan, begin,
                                end);
}

template <class Arch, class T>
void compare_impl(CompareOp op, const T* a, const T* b, bool* c, const BroadcastPlan<2>& plan, int64_t begin,
                  int64_t end) {
  if constexpr (simd::is_narrow<T>) {
    detail::zip_narrow<Arch>(a, b, plan, begin, end,
                             [&](int64_t at, const float* x, const float* y, int64_t n) {
                               compare_impl<Arch>(op, x, y, c + at, BroadcastPlan<2>::flat(n), 0, n);
                             });
  } else {
    using enum CompareOp;
    switch (op) {
      case equal: return compare_of<Arch, equal>(a, b, c, plan, begin, end);
      case less: return compare_of<Arch, less>(a, b, c, plan, begin, end);
      case less_equal: return compare_of<Arch, less_equal>(a, b, c, plan, begin, end);
      case greater: return compare_of<Arch, greater>(a, b, c, plan, begin, end);
      case greater_equal: return compare_of<Arch, greater_equal>(a, b, c, plan, begin, end);
    }
  }
}

template <class Arch>
void logic_impl(LogicOp op, const bool* a, const bool* b, bool* c, const BroadcastPlan<2>& plan,
                int64_t begin, int64_t end) {
  const auto run = [&]<class F>(F) {
    detail::zip_broadcast<Arch>(detail::zip<Arch, F, bool, bool>, a, b, c, plan, begin, end);
  };
  switch (op) {
    case LogicOp::logical_and: return run([](bool x, bool y) { return x && y; });
    case LogicOp::logical_or: return run([](bool x, bool y) { return x || y; });
    case LogicOp::logical_xor: return run([](bool x, bool y) { return x != y; });
  }
}

template <class Arch>
void where_impl(const bool* condition, const void* a, const void* b, void* c, std::size_t element_size,
                const BroadcastPlan<3>& plan, int64_t begin, int64_t end) {
  const char *x = static_cast<const char*>(a), *y = static_cast<const char*>(b);
  char* z = static_cast<char*>(c);
  switch (element_size) {
    case 1: return detail::where_blocks<Arch, 1>(condition, x, y, z, plan, begin, end);
    case 2: return detail::where_blocks<Arch, 2>(condition, x, y, z, plan, begin, end);
    case 4: return detail::where_blocks<Arch, 4>(condition, x, y, z, plan, begin, end);
    case 8: return detail::where_blocks<Arch, 8>(condition, x, y, z, plan, begin, end);
    case 16: return detail::where_blocks<Arch, 16>(condition, x, y, z, plan, begin, end);
  }
}

template <class Arch>
void within_impl(const void* x, std::size_t element_size, uint64_t mask, uint64_t low, uint64_t high, bool* y,
                 int64_t n) {
  switch (element_size) {
    case 1: return detail::within_blocks<Arch, 1>(x, y, n, mask, low, high);
    case 2: return detail::within_blocks<Arch, 2>(x, y, n, mask, low, high);
    case 4: return detail::within_blocks<Arch, 4>(x, y, n, mask, low, high);
    case 8: return detail::within_blocks<Arch, 8>(x, y, n, mask, low, high);
  }
}

#ifdef TENON_INSTANTIATE
#define TENON_ELEMENTWISE(T)                                                             \
  template UnaryLoop<T> unary_loop<TENON_INSTANTIATE, T>(UnaryOp);                       \
  template void clip_impl<TENON_INSTANTIATE, T>(const T*, T*, int64_t, T, T);            \
  template BinaryLoop<T> binary_loop<TENON_INSTANTIATE, T>(BinaryOp);                    \
  template void compare_impl<TENON_INSTANTIATE, T>(CompareOp, const T*, const T*, bool*, \
                                                   const BroadcastPlan<2>&, int64_t, int64_t);
TENON_ELEMENTWISE(float)
TENON_ELEMENTWISE(double)
TENON_ELEMENTWISE(float16)
TENON_ELEMENTWISE(bfloat16)
TENON_ELEMENTWISE(int8_t)
TENON_ELEMENTWISE(int16_t)
TENON_ELEMENTWISE(int32_t)
TENON_ELEMENTWISE(int64_t)
TENON_ELEMENTWISE(uint8_t)
TENON_ELEMENTWISE(uint16_t)
TENON_ELEMENTWISE(uint32_t)
TENON_ELEMENTWISE(uint64_t)
#undef TENON_ELEMENTWISE
template void logic_impl<TENON_INSTANTIATE>(LogicOp, const bool*, const bool*, bool*, const BroadcastPlan<2>&,
                                            int64_t, int64_t);
template void where_impl<TENON_INSTANTIATE>(const bool*, const void*, const void*, void*, std::size_t,
                                            const BroadcastPlan<3>&, int64_t, int64_t);
template void within_impl<TENON_INSTANTIATE>(const void*, std::size_t, uint64_t, uint64_t, uint64_t, bool*,
                                             int64_t);
#endif

}  // namespace tenon::TENON_ABI::kernels

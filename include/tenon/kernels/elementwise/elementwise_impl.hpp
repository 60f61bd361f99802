// Bodies of elementwise.hpp: the loops over the functions of functions.hpp, and entry points.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/kernels/elementwise/functions.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

// --------------------------------------------------------------------------------------------------- loops

/// Elements that are widened to float, or gathered from short broadcast rows, at a time.
inline constexpr int64_t map_panel = 512;

template <class Arch, class T, class F>
void map(const T* x, T* y, int64_t n, const F& f) {
  int64_t i = 0;
  if constexpr (!std::is_integral_v<T>) {
    constexpr int64_t width = simd::lanes<compute_t<T>, Arch>;
    for (; i + width <= n; i += width) simd::store_wide<Arch>(y + i, f(simd::load_wide<Arch>(x + i)));
    if (i < n) simd::store_wide<Arch>(y + i, f(simd::load_wide<Arch>(x + i, n - i)), n - i);
  } else {
    for (; i < n; ++i) y[i] = static_cast<T>(f(x[i]));
  }
}

// Whether T goes through panels of floats: narrow floats share the loops of float, except in functions that
// cost less than the panel.
template <class T, class Row>
inline constexpr bool by_panels = simd::is_narrow<T> && Row::grain != cheap_grain;

// y = f(x) a panel at a time, by the loop of float.
template <class Arch, class T>
[[gnu::noinline]] void map_narrow(void (*loop)(UnaryParams, const float*, float*, int64_t), UnaryParams p,
                                  const T* x, T* y, int64_t n) {
  alignas(64) float wide[map_panel];
  for (int64_t i = 0; i < n; i += map_panel) {
    const int64_t count = n - i < map_panel ? n - i : map_panel;
    simd::widen<Arch>(x + i, wide, count);
    loop(p, wide, wide, count);
    simd::narrow<Arch>(wide, y + i, count);
  }
}

// c[i] = f(a[i], b[i]), f = F{}; an operand that does not move stays at its first element; at least one
// operand moves.
template <class Arch, class F, class T, class R>
void zip(const T* a, bool a_moves, const T* b, bool b_moves, R* c, int64_t n) {
  const F f{};
  int64_t i = 0;
  if constexpr (!std::is_integral_v<T> && std::is_same_v<T, R>) {
    using W = compute_t<T>;
    constexpr int64_t width = simd::lanes<W, Arch>;
    const auto loop = [&](auto&& x, auto&& y) {
      for (; i + width <= n; i += width) simd::store_wide<Arch>(c + i, f(x(i), y(i)));
      if (i < n) simd::store_wide<Arch>(c + i, f(x(i, n - i), y(i, n - i)), n - i);
    };
    const auto moving = [](const T* p) {
      return [p](int64_t at, auto... count) { return simd::load_wide<Arch>(p + at, count...); };
    };
    const auto fixed = [](const T* p) {
      return [v = simd::broadcast<Arch>(static_cast<W>(*p))](auto...) { return v; };
    };
    if (a_moves && b_moves) loop(moving(a), moving(b));
    else if (a_moves) loop(moving(a), fixed(b));
    else loop(fixed(a), moving(b));
  } else if (a_moves && b_moves) {
    for (; i < n; ++i) c[i] = static_cast<R>(f(a[i], b[i]));
  } else if (a_moves) {
    for (const T y = *b; i < n; ++i) c[i] = static_cast<R>(f(a[i], y));
  } else {
    for (const T x = *a; i < n; ++i) c[i] = static_cast<R>(f(x, b[i]));
  }
}

/// An integer of `bytes` bytes, or for 16 the bytes themselves. Elements of any type pass through it by
/// memcpy.
template <std::size_t bytes>
struct ElementOf {
  struct type {
    char at[bytes];
  };
};
template <>
struct ElementOf<1> : std::type_identity<uint8_t> {};
template <>
struct ElementOf<2> : std::type_identity<uint16_t> {};
template <>
struct ElementOf<4> : std::type_identity<uint32_t> {};
template <>
struct ElementOf<8> : std::type_identity<uint64_t> {};

// gather_blocks of an operand that is constant along innermost rows: the row loop covers the two last axes.
template <class Arch, std::size_t size>
void spread_blocks(BroadcastPlan<2> plan, int k, const void* x, void* to, int64_t at, int64_t count) {
  using Block = typename ElementOf<size>::type;
  constexpr int64_t most = Arch::register_bytes;
  const int64_t row = plan.inner(), step = plan.strides[k][plan.rank - 2];
  plan.extents[--plan.rank - 1] *= row;
  plan.strides[k][plan.rank - 1] = 0;
  for_each_run(plan, at, at + count, [&](int64_t i, const int64_t* offsets, int64_t run) {
    const int64_t first = i % plan.inner();
    const Block* from = static_cast<const Block*>(x) + offsets[k] + first / row * step;
    Block* const out = static_cast<Block*>(to) + (i - at);
    // A register longer than a row would cross cache lines more often when stored.
    const auto fill = [&]<int64_t bytes>(std::integral_constant<int64_t, bytes>) {
      using Part [[gnu::vector_size(bytes)]] = Block;
      constexpr int64_t width = bytes / static_cast<int64_t>(size);
      for (int64_t begin = 0, end = row - first % row; begin < run; begin = end, end += row, from += step) {
        const Part v = Part{} + simd::element<Arch>(from);
        for (int64_t j = begin; j < std::min(end, run); j += width) std::memcpy(out + j, &v, bytes);
      }
    };
    if (row <= most / 2 / static_cast<int64_t>(size)) fill(std::integral_constant<int64_t, most / 2>{});
    else fill(std::integral_constant<int64_t, most>{});
  });
}

// Gathers the elements of operand k for the results [at, at + count) into `to`: blocks of bytes, of any type.
// After the last one there is room for a register.
template <class Arch, std::size_t size>
[[gnu::noinline]] void gather_blocks(const BroadcastPlan<2>& plan, int k, const void* x, void* to, int64_t at,
                                     int64_t count) {
  const auto step = plan.strides[k][plan.rank - 1] * static_cast<int64_t>(size);
  if (step == 0 && plan.rank > 1) return spread_blocks<Arch, size>(plan, k, x, to, at, count);
  for_each_run(plan, at, at + count, [&](int64_t i, const int64_t* offsets, int64_t run) {
    const char* from = static_cast<const char*>(x) + offsets[k] * static_cast<int64_t>(size);
    char* out = static_cast<char*>(to) + (i - at) * static_cast<int64_t>(size);
    for (int64_t j = 0; j < run; ++j)
      std::memcpy(out + j * static_cast<int64_t>(size), from + j * step, size);
  });
}
// The same, but returns the elements in place if they need no gathering.
template <class Arch, class T>
const T* gather(const BroadcastPlan<2>& plan, int k, bool dense, const T* x, T* to, int64_t at,
                int64_t count) {
  if (dense) return x + at;
  gather_blocks<Arch, sizeof(T)>(plan, k, x, to, at, count);
  return to;
}

// Calls run(at, a, b, count) for panels of the results, with the operands' elements contiguous.
template <class Arch, class T, class F>
void zip_panels(const T* a, const T* b, const BroadcastPlan<2>& plan, int64_t begin, int64_t end,
                const F& run) {
  const bool dense_a = plan.dense(0), dense_b = plan.dense(1);
  constexpr int64_t room = map_panel + Arch::register_bytes / static_cast<int64_t>(sizeof(T));
  T x[room], y[room];
  for (int64_t at = begin; at < end; at += map_panel) {
    const int64_t count = end - at < map_panel ? end - at : map_panel;
    const T* p = gather<Arch>(plan, 0, dense_a, a, x, at, count);
    run(at, p, gather<Arch>(plan, 1, dense_b, b, y, at, count), count);
  }
}

// The same with narrow floats converted to float.
template <class Arch, class T, class F>
void zip_narrow(const T* a, const T* b, const BroadcastPlan<2>& plan, int64_t begin, int64_t end,
                const F& run) {
  alignas(64) float x[map_panel], y[map_panel];
  zip_panels<Arch>(a, b, plan, begin, end, [&](int64_t at, const T* p, const T* q, int64_t count) {
    simd::widen<Arch>(p, x, count);
    simd::widen<Arch>(q, y, count);
    run(at, static_cast<const float*>(x), static_cast<const float*>(y), count);
  });
}

// The operand that repeats short innermost rows over the axis before them while the other one is dense; -1 if
// none does.
inline int repeated_operand(const BroadcastPlan<2>& plan) {
  const int last = plan.rank - 1;
  if (last < 1 || plan.inner() >= 32 || plan.strides[0][last] != 1 || plan.strides[1][last] != 1) return -1;
  for (int k : {0, 1})
    if (plan.strides[k][last - 1] == 0 && plan.strides[1 - k][last - 1] == plan.inner()) return k;
  return -1;
}

// zip_broadcast of a plan with a repeated operand: its rows are stored side by side in a panel, which serves
// the whole axis before them.
template <class Arch, class T, class R>
void zip_repeated(void (*zip)(const T*, bool, const T*, bool, R*, int64_t), const T* a, const T* b, R* c,
                  int repeated, BroadcastPlan<2> plan, int64_t begin, int64_t end) {
  constexpr int64_t most = 160;
  const int64_t row = plan.inner(), panel = most / row * row;
  plan.extents[--plan.rank - 1] *= row;
  plan.strides[1 - repeated][plan.rank - 1] = 1;
  T rows[most];
  for_each_run(plan, begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
    const T* from = (repeated == 0 ? a : b) + offsets[repeated];
    const int64_t length = std::min(count, panel), first = at % row;
    std::rotate_copy(from, from + first, from + row, rows);
    for (int64_t i = row; i < length; i += i) std::copy_n(rows, std::min(i, panel - i), rows + i);
    const T* other = (repeated == 0 ? b : a) + offsets[1 - repeated];
    for (int64_t i = 0; i < count; i += panel) {
      const int64_t n = std::min(panel, count - i);
      if (repeated == 0) zip(rows, true, other + i, true, c + at + i, n);
      else zip(other + i, true, rows, true, c + at + i, n);
    }
  });
}

// Runs `zip` over a broadcast with several loops. Long runs of an innermost row with steps of 0 and 1 (not
// both 0) are passed to `zip` whole; otherwise operands are gathered into panels first. `zip` is a pointer,
// so that the walk over the plan is compiled once per type and not for every operation.
template <class Arch, class T, class R>
[[gnu::noinline]] void zip_rows(void (*zip)(const T*, bool, const T*, bool, R*, int64_t), const T* a,
                                const T* b, R* c, const BroadcastPlan<2>& plan, bool unit, int64_t begin,
                                int64_t end) {
  const int64_t step_a = plan.strides[0][plan.rank - 1], step_b = plan.strides[1][plan.rank - 1];
  if (unit && plan.inner() >= 32) {
    for_each_run(plan, begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
      zip(a + offsets[0], step_a, b + offsets[1], step_b, c + at, count);
    });
  } else if (const int k = repeated_operand(plan); k >= 0) {
    zip_repeated<Arch>(zip, a, b, c, k, plan, begin, end);
  } else {
    zip_panels<Arch>(a, b, plan, begin, end, [&](int64_t at, const T* p, const T* q, int64_t count) {
      zip(p, true, q, true, c + at, count);
    });
  }
}

// Runs `zip` over a broadcast.
template <class Arch, class T, class R>
void zip_broadcast(void (*zip)(const T*, bool, const T*, bool, R*, int64_t), const T* a, const T* b, R* c,
                   const BroadcastPlan<2>& plan, int64_t begin, int64_t end) {
  const int64_t step_a = plan.strides[0][plan.rank - 1], step_b = plan.strides[1][plan.rank - 1];
  const bool unit = (step_a == 1 && (step_b == 0 || step_b == 1)) || (step_a == 0 && step_b == 1);
  if (unit && plan.rank == 1)
    zip(a + begin * step_a, step_a, b + begin * step_b, step_b, c + begin, end - begin);
  else zip_rows<Arch>(zip, a, b, c, plan, unit, begin, end);
}

// c[i] = F{}(a[i], b[i], defined): for functions so costly that the loop overhead does not matter.
template <class Arch, class F, class T>
void zip_each(const T* a, const T* b, T* c, int64_t n, bool& defined) {
  for (int64_t i = 0; i < n; ++i) c[i] = static_cast<T>(F{}(a[i], b[i], defined));
}

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

// -------------------------------------------------------------------------------------------- entry points

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
  else if (exponent == -1) map<Arch>(x, y, n, [](const B& v) { return B(T(1)) / v; });
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

namespace detail {

template <std::size_t bytes>
typename ElementOf<bytes>::type load_block(const char* p, int64_t i) {
  typename ElementOf<bytes>::type block;
  std::memcpy(&block, p + i * static_cast<int64_t>(bytes), bytes);
  return block;
}

// One run of elements. The compiler vectorises panels of known length that alias no operand: c may be a or b.
template <class Arch, std::size_t size, bool a_moves, bool b_moves>
void where_run(const bool* choose, const char* a, const char* b, char* c, int64_t n) {
  constexpr int64_t panel = 64;
  typename ElementOf<size>::type chosen[panel];
  const auto run = [&](int64_t at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      auto x = load_block<size>(a, a_moves ? at + i : 0), y = load_block<size>(b, b_moves ? at + i : 0);
      if constexpr (size > 8) {
        chosen[i] = choose[at + i] ? x : y;
      } else {
        // A conditional would become a branch around the loads.
        const auto mask = static_cast<decltype(x)>(-static_cast<int64_t>(choose[at + i]));
        chosen[i] = static_cast<decltype(x)>(y ^ ((x ^ y) & mask));
      }
    }
    std::memcpy(c + at * static_cast<int64_t>(size), chosen, static_cast<std::size_t>(count) * size);
  };
  int64_t i = 0;
  for (; i + panel <= n; i += panel) run(i, panel);
  if (i < n) run(i, n - i);
}

template <class Arch, std::size_t bytes>
void where_blocks(const bool* condition, const char* a, const char* b, char* c, const BroadcastPlan<3>& plan,
                  int64_t begin, int64_t end) {
  constexpr auto size = static_cast<int64_t>(bytes);
  const int inner = plan.rank - 1;
  const int64_t step = plan.strides[0][inner], step_a = plan.strides[1][inner],
                step_b = plan.strides[2][inner];
  // Steps of innermost rows are 0 or 1.
  for_each_run(plan, begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
    const bool* choose = condition + offsets[0];
    const char *from_a = a + offsets[1] * size, *from_b = b + offsets[2] * size;
    char* to = c + at * size;
    if (step == 0) {
      const char* from = *choose ? from_a : from_b;
      if ((*choose ? step_a : step_b) != 0) {
        std::memmove(to, from, static_cast<std::size_t>(count * size));
      } else {
        const auto block = load_block<bytes>(from, 0);
        for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * size, &block, bytes);
      }
    } else if (step_a != 0) {
      if (step_b != 0) where_run<Arch, bytes, true, true>(choose, from_a, from_b, to, count);
      else where_run<Arch, bytes, true, false>(choose, from_a, from_b, to, count);
    } else {
      if (step_b != 0) where_run<Arch, bytes, false, true>(choose, from_a, from_b, to, count);
      else where_run<Arch, bytes, false, false>(choose, from_a, from_b, to, count);
    }
  });
}

}  // namespace detail

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

namespace detail {
template <class Arch, std::size_t size>
void within_blocks(const void* x, bool* __restrict y, int64_t n, uint64_t mask, uint64_t low, uint64_t high) {
  using Bits = typename ElementOf<size>::type;
  const Bits kept = static_cast<Bits>(mask), least = static_cast<Bits>(low),
             span = static_cast<Bits>(high - low);
  const char* from = static_cast<const char*>(x);
  const auto run = [&](int64_t at, int64_t count) {
    for (int64_t i = at; i < at + count; ++i)
      y[i] = static_cast<Bits>((load_block<size>(from, i) & kept) - least) <= span;
  };
  constexpr int64_t panel = 64;
  int64_t i = 0;
  for (; i + panel <= n; i += panel) run(i, panel);
  if (i < n) run(i, n - i);
}
}  // namespace detail

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

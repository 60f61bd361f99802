// Distinct slices along an axis. Elements of any type of whole bytes, strings and complex numbers included.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>

#include "tenon/base/scratch.hpp"
#include "tenon/base/types.hpp"
#include "tenon/kernels/top_k.hpp"

namespace tenon::TENON_ABI::kernels {

namespace detail {

/// Negative, 0 or positive as a precedes, equals, or follows b. NaN follows all numbers and equals NaN.
template <class T>
int compare_elements(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, std::string>) {
    return a.compare(b);
  } else if constexpr (is_complex(dtype_of<T>)) {
    const int real = compare_elements(a.real(), b.real());
    return real != 0 ? real : compare_elements(a.imag(), b.imag());
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<int>(a > b) - static_cast<int>(a < b);
  } else {
    const bool a_nan = a != a, b_nan = b != b;
    if (a_nan || b_nan) return static_cast<int>(a_nan) - static_cast<int>(b_nan);
    return static_cast<int>(a > b) - static_cast<int>(a < b);
  }
}

/// Slices of an array (outer, extent, inner) along its middle axis.
struct Slices {
  const void* data;
  int64_t outer, extent, inner;
};

/// Compares slices a and b element by element; the first difference decides.
using CompareSlices = int (*)(const Slices& s, int64_t a, int64_t b);

template <class T>
int compare_slices(const Slices& s, int64_t a, int64_t b) {
  const T* p = static_cast<const T*>(s.data);
  for (int64_t o = 0; o < s.outer; ++o) {
    const T *pa = p + (o * s.extent + a) * s.inner, *pb = p + (o * s.extent + b) * s.inner;
    for (int64_t i = 0; i < s.inner; ++i)
      if (const int order = compare_elements(pa[i], pb[i])) return order;
  }
  return 0;
}

template <class T>
bool is_nan_at(const void* x, int64_t k) {
  const T v = static_cast<const T*>(x)[k];
  return v != v;
}

/// Stable byte-by-byte sort of n elements by their keys. Uses the memory of `other`, n elements, and returns
/// the location of the result.
inline Ranked* sort_ranked(Ranked* x, Ranked* other, int64_t n) {
  uint64_t varied = 0;
  for (int64_t k = 0; k < n; ++k) varied |= x[k].key ^ x[0].key;
  for (int shift = 0; shift < 64; shift += 8) {
    if ((varied >> shift & 255) == 0) continue;
    int64_t place[256] = {}, next = 0;
    for (int64_t k = 0; k < n; ++k) ++place[x[k].key >> shift & 255];
    for (int64_t& p : place) next += std::exchange(p, next);
    for (int64_t k = 0; k < n; ++k) other[place[x[k].key >> shift & 255]++] = x[k];
    std::swap(x, other);
  }
  return x;
}

}  // namespace detail

/// How groups are ordered: ascending, or by their first slices. With first_and_each_nan, for slices of one
/// element, each NaN is also a group of its own.
enum class GroupOrder : uint8_t { ascending, first, first_and_each_nan };

/// Groups equal slices of x (outer, extent, inner) along its middle axis. Returns the number of groups.
/// first[g] is the first slice of group g, counts[g] its number of slices, inverse[k] the group of slice k.
/// Each of the three arrays has room for `extent` entries.
inline int64_t unique(DType type, const void* x, int64_t outer, int64_t extent, int64_t inner,
                      GroupOrder group_order, int64_t* first, int64_t* inverse, int64_t* counts) {
  detail::CompareSlices compare = nullptr;
  visit_types<float, double, float16, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
              uint32_t, uint64_t, bool, std::string, complex64, complex128>(
      type, [&]<class T>() { compare = detail::compare_slices<T>; });
  const detail::Slices slices{x, outer, extent, inner};
  Scratch scratch;
  int64_t* order = scratch.take<int64_t>(extent);
  const detail::Ranked* sorted_keys = nullptr;
  // Equal slices by index, so that each group begins with its first. Keys stand for single numbers.
  const auto sort_keys = [&]<class T>() {
    auto* keys = scratch.take<detail::Ranked>(extent);
    for (int64_t k = 0; k < extent; ++k) keys[k] = {detail::order_key(static_cast<const T*>(x)[k]), k};
    if (extent < 256) std::sort(keys, keys + extent);
    else keys = detail::sort_ranked(keys, scratch.take<detail::Ranked>(extent), extent);
    sorted_keys = keys;
  };
  if (outer != 1 || inner != 1 ||
      !visit_types<float, double, float16, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                   uint32_t, uint64_t, bool>(type, sort_keys)) {
    std::iota(order, order + extent, int64_t{0});
    std::sort(order, order + extent, [&](int64_t a, int64_t b) {
      const int c = compare(slices, a, b);
      return c != 0 ? c < 0 : a < b;
    });
  }
  int64_t groups = 0;
  for (int64_t k = 0, begin = 0; k < extent; ++k) {
    const int64_t at = sorted_keys ? sorted_keys[k].index : order[k];
    if (k == 0 || (sorted_keys ? sorted_keys[k - 1].key != sorted_keys[k].key
                               : compare(slices, order[k - 1], at) != 0)) {
      first[groups++] = at;
      begin = k;
    }
    counts[groups - 1] = k + 1 - begin;
    inverse[at] = groups - 1;
  }
  if (group_order == GroupOrder::ascending) return groups;

  bool (*is_nan)(const void*, int64_t) = nullptr;
  if (group_order == GroupOrder::first_and_each_nan)
    visit_types<float, double, float16, bfloat16>(type, [&]<class T>() { is_nan = detail::is_nan_at<T>; });
  int64_t* number = scratch.take<int64_t>(groups);
  std::fill_n(counts, extent, int64_t{0});
  groups = 0;
  for (int64_t k = 0; k < extent; ++k) {
    // A group's first slice precedes its others, so `number` of the group is set before it is read.
    int64_t& group = number[inverse[k]];
    if (first[inverse[k]] == k || (is_nan != nullptr && is_nan(x, k))) {
      group = groups++;
      order[group] = k;
    }
    ++counts[group];
    inverse[k] = group;
  }
  std::copy_n(order, groups, first);
  return groups;
}

}  // namespace tenon::TENON_ABI::kernels

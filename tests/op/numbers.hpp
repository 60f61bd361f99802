// Long lists of numbers, for operators that are held to their definitions.
#pragma once

#include "tenon/base/convert.hpp"
#include "tests/op/check.hpp"

namespace tenon::test {

using List = std::vector<double>;

/// Numbers in [-scale, scale] that look random.
inline List numbers(int64_t n, unsigned seed, double scale = 1) {
  List list;
  uint32_t s = seed * 2654435761u + 1;
  for (int64_t k = 0; k < n; ++k) {
    s = s * 1664525u + 1013904223u;
    list.push_back((static_cast<double>(s >> 8) / (1 << 23) - 1) * scale);
  }
  return list;
}
/// The same, as T holds them.
template <class T>
List numbers_of(int64_t n, unsigned seed, double scale = 1) {
  List list = numbers(n, seed, scale);
  for (double& x : list) x = convert<double>(convert<T>(x));
  return list;
}
template <class T>
Value tensor(const Extents& e, const List& values) {
  Tensor<T> t{std::span<const int64_t>(e)};
  for (int64_t k = 0; k < t.size(); ++k) t[k] = convert<T>(values[static_cast<std::size_t>(k)]);
  return t;
}

}  // namespace tenon::test

// Whether two values are equal, and where they differ, for tests of results.
#pragma once

#include <cmath>

#include "tenon/tensor/print.hpp"

namespace tenon::TENON_ABI {

/// A float may lie atol + rtol * |expected| from the expected one.
struct Tolerance {
  double rtol = 0, atol = 0;
};

std::string difference(const Value& actual, const Value& expected, Tolerance tolerance = {});

namespace detail {

template <class T>
bool is_close(const T& actual, const T& expected, Tolerance t) {
  if constexpr (is_complex(dtype_of<T>)) {
    return is_close(actual.real(), expected.real(), t) && is_close(actual.imag(), expected.imag(), t);
  } else if constexpr (is_float(dtype_of<T>)) {
    const auto a = static_cast<double>(actual), e = static_cast<double>(expected);
    if (std::isnan(e)) return std::isnan(a);
    return a == e || (std::isfinite(e) && std::abs(a - e) <= t.atol + t.rtol * std::abs(e));
  } else {
    return actual == expected;
  }
}

/// Whether element i of `actual` is close to element k of `expected`; both are of one type.
inline bool is_close(AnyView actual, int64_t i, AnyView expected, int64_t k, Tolerance t) {
  bool close = false;
  visit_dtype(expected.dtype(),
              [&]<class T>() { close = is_close(T(actual.as<T>()[i]), T(expected.as<T>()[k]), t); });
  return close;
}

/// The text for elements that differ.
inline std::string instead(AnyView actual, int64_t i, AnyView expected, int64_t k) {
  return str_cat(element_text(actual, i), " instead of ", element_text(expected, k));
}

inline std::string difference(const AnyTensor& actual, const AnyTensor& expected, Tolerance t) {
  Extents place = expected.extents();
  if (!(actual.extents() == place))
    return str_cat("extents ", to_string(actual.extents()), " instead of ", to_string(place));
  int64_t wrong = 0, first = 0;
  for (int64_t k = expected.size(); k-- > 0;)
    if (!is_close(actual, k, expected, k, t)) ++wrong, first = k;
  if (wrong == 0) return "";
  int64_t rest = first;
  for (int a = place.size(); a-- > 0;) {
    place[a] = rest % expected.extents()[a];
    rest /= expected.extents()[a];
  }
  return str_cat(wrong, " of ", expected.size(), " elements differ, first at ", to_string(place), ": ",
                 instead(actual, first, expected, first));
}

/// Entries may be in any order.
inline std::string difference(const Map& actual, const Map& expected, Tolerance t) {
  const int64_t n = expected.keys.size();
  if (actual.keys.size() != n) return str_cat(actual.keys.size(), " entries instead of ", n);
  for (int64_t k = 0; k < n; ++k) {
    int64_t i = 0;
    while (i < n && !is_close(actual.keys, i, expected.keys, k, {})) ++i;
    const std::string key = element_text(expected.keys, k);
    if (i == n) return str_cat("no entry for ", key);
    if (!is_close(actual.values, i, expected.values, k, t))
      return str_cat("entry for ", key, ": ", instead(actual.values, i, expected.values, k));
  }
  return "";
}

/// The row-major offsets of the elements, from either form of the indices.
inline AnyTensor offsets(const SparseTensor& s) {
  if (s.indices.rank() == 1) return s.indices;
  Tensor<int64_t> offset(Extents{s.values.size()});
  const auto index = s.indices.view().as<int64_t>();
  for (int64_t k = 0; k < offset.size(); ++k) {
    offset[k] = 0;
    for (int a = 0; a < s.extents.size(); ++a) offset[k] = offset[k] * s.extents[a] + index(k, a);
  }
  return offset;
}

inline std::string difference(const SparseTensor& actual, const SparseTensor& expected, Tolerance t) {
  if (!(actual.extents == expected.extents))
    return str_cat("extents ", to_string(actual.extents), " instead of ", to_string(expected.extents));
  if (std::string d = difference(offsets(actual), offsets(expected), {}); !d.empty())
    return str_cat("offsets: ", d);
  if (std::string d = difference(actual.values, expected.values, t); !d.empty())
    return str_cat("values: ", d);
  return "";
}

inline std::string difference(const Sequence& actual, const Sequence& expected, Tolerance t) {
  const std::size_t n = expected.items.size();
  if (actual.items.size() != n) return str_cat(actual.items.size(), " items instead of ", n);
  for (std::size_t k = 0; k < n; ++k)
    if (std::string d = tenon::difference(actual.items[k], expected.items[k], t); !d.empty())
      return str_cat("item ", k, ": ", d);
  return "";
}

inline std::string difference(const OptionalValue& actual, const OptionalValue& expected, Tolerance t) {
  if (actual.value && expected.value) return tenon::difference(*actual.value, *expected.value, t);
  return actual.value ? "a value instead of none" : expected.value ? "no value" : "";
}

}  // namespace detail

/// Empty if the values have the same type, extents and contents; else the first difference in words, "item 2:
/// 1 of 6 elements differ, first at (0,1): 1.5 instead of 1.25". Floats, and both parts of complex numbers,
/// are compared within the tolerance: NaN is NaN, and an infinity only itself. Everything else is compared
/// exactly.
inline std::string difference(const Value& actual, const Value& expected, Tolerance tolerance) {
  if (!(actual.type() == expected.type()))
    return str_cat(to_string(actual.type()), " instead of ", to_string(expected.type()));
  if (!expected) return "";
  if (expected.is_sequence()) return detail::difference(actual.sequence(), expected.sequence(), tolerance);
  if (expected.is_optional()) return detail::difference(actual.optional(), expected.optional(), tolerance);
  if (expected.is_map()) return detail::difference(actual.map(), expected.map(), tolerance);
  if (expected.is_sparse_tensor())
    return detail::difference(actual.sparse_tensor(), expected.sparse_tensor(), tolerance);
  if (expected.is_opaque())  // only its domain knows the contents
    return actual.opaque().value == expected.opaque().value ? "" : "another opaque value";
  return detail::difference(actual.tensor(), expected.tensor(), tolerance);
}

}  // namespace tenon::TENON_ABI

// Operators of classical models share the form of their input, rows of features, and the labels of classes.
#pragma once

#include <algorithm>

#include "tenon/base/convert.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// The types of features.
inline constexpr TypeSet feature_types = types::float32 | types::float64 | types::int64 | types::int32;

/// The type in which models compute with features of type T.
template <class T>
using model_t = std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, float16>, float, double>;

/// X is (N,C), or (C), which is one row; fails for other ranks.
constexpr bool expect_rows(Infer& i) {
  const Dims& x = i.dims(0);
  if (x.ranked() && x.rank() != 1 && x.rank() != 2)
    i.fail(i.name(0), ": rank ", x.rank(), ", expected 1 or 2");
  return !i.failed();
}
constexpr Dim row_count(const Dims& x) { return !x.ranked() ? Dim() : x.rank() == 1 ? Dim(1) : x[0]; }
constexpr Dim feature_count(const Dims& x) { return x.ranked() ? x[x.rank() - 1] : Dim(); }
template <class T>
int64_t row_count(TensorView<const T> x) {
  return x.rank() == 1 ? 1 : x.extent(0);
}

/// The elements of a list as C: in their own memory, or a copy.
template <class C, class T>
const C* as_model(Scratch& scratch, const T* x, int64_t n) {
  if constexpr (std::is_same_v<C, T>) {
    return x;
  } else {
    C* wide = scratch.take<C>(n);
    for (int64_t k = 0; k < n; ++k) wide[k] = static_cast<C>(x[k]);
    return wide;
  }
}

/// A list of floats as C: the list itself, which must outlive this, or a copy.
template <class C>
class ModelList {
 public:
  explicit ModelList(const std::vector<float>& list) : size_(static_cast<int64_t>(list.size())) {
    if constexpr (std::is_same_v<C, float>) data_ = list.data();
    else copy_.assign(list.begin(), list.end());
  }
  int64_t size() const { return size_; }
  const C* data() const { return std::is_same_v<C, float> ? data_ : copy_.data(); }

 private:
  int64_t size_;
  const C* data_ = nullptr;
  std::vector<C> copy_;
};

/// The labels of a classifier's classes: strings, or integers, or, if it states neither, the classes'
/// numbers.
struct ClassLabels {
  std::span<const std::string> strings;
  std::span<const int64_t> integers;

  int64_t count() const { return static_cast<int64_t>(std::max(strings.size(), integers.size())); }
  DType dtype() const { return strings.empty() ? DType::int64 : DType::string; }
  /// Fails if both kinds are stated.
  bool expect_one_kind(Infer& i, std::string_view name) const {
    if (!strings.empty() && !integers.empty()) i.fail(name, "s are given both as strings and as integers");
    return !i.failed();
  }
  void put(AnyOut y, int64_t row, int64_t c) const {
    const auto number = static_cast<std::size_t>(c);
    if (!strings.empty()) static_cast<std::string*>(y.data())[row] = strings[number];
    else static_cast<int64_t*>(y.data())[row] = integers.empty() ? c : integers[number];
  }
  /// The label of rows that do not belong to the only class: "" or 0.
  void put_none(AnyOut y, int64_t row) const {
    if (!strings.empty()) static_cast<std::string*>(y.data())[row].clear();
    else static_cast<int64_t*>(y.data())[row] = 0;
  }
};

}  // namespace tenon::TENON_ABI::op

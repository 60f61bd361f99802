// What the tests of operators that only move elements share: tensors of any type with elements that tell one
// another apart, and a check that says of each element of a result where it came from.
#pragma once

#include "tenon/base/thread_pool.hpp"
#include "tests/op/check.hpp"

namespace tenon::test {

/// Elements of arbitrary bits, the same for the same extents and seed.
inline Value pattern(DType d, const Extents& extents, uint32_t seed = 1) {
  AnyTensor t = AnyTensor::uninitialized(d, extents);
  for (int64_t k = 0; k < (d == DType::string ? t.size() : t.bytes()); ++k) {
    seed = seed * 1664525u + 1013904223u;
    if (d == DType::string) t.out().as<std::string>()[k] = str_cat("text number ", seed % 1000, " of ", k);
    else
      static_cast<uint8_t*>(t.out().data())[k] =
          static_cast<uint8_t>(d == DType::bool_ ? seed >> 24 & 1 : seed >> 24);
  }
  return t;
}

/// The bits of an element.
inline std::string element(AnyView v, int64_t k) {
  if (v.dtype() == DType::string) return static_cast<const std::string*>(v.data())[k];
  const int width = bits_of(v.dtype());
  const char* bytes = static_cast<const char*>(v.data());
  if (width >= 8) return std::string(bytes + k * width / 8, static_cast<std::size_t>(width / 8));
  return std::string(1, static_cast<char>(static_cast<uint8_t>(bytes[k * width / 8]) >> (k * width % 8) &
                                          ((1 << width) - 1)));
}

/// Element k of `actual` is element from(index of k) of `source`.
template <class F>
void check_moved(AnyView actual, AnyView source, const Extents& extents, F from) {
  REQUIRE(actual.dtype() == source.dtype());
  REQUIRE(Extents(actual.extents()) == extents);
  for (int64_t k = 0; k < actual.size(); ++k) {
    Extents index(actual.extents());
    for (int64_t rest = k, d = index.size(); d-- > 0; rest /= actual.extents()[static_cast<std::size_t>(d)])
      index[d] = rest % actual.extents()[static_cast<std::size_t>(d)];
    const int64_t at = from(index);
    if (element(actual, k) != element(source, at)) {
      FAIL_CHECK(name_of(source.dtype()), ": element ", k, " is not element ", at, " of the source");
      return;
    }
  }
}

/// The place of an index in a dense array.
inline int64_t place(const Extents& extents, const Extents& index) {
  int64_t at = 0;
  for (int d = 0; d < extents.size(); ++d) at = at * extents[d] + index[d];
  return at;
}

/// Calls f(dtype) for the tensor types that a type variable permits in any version.
template <class F>
void for_types(const op::TypeVars::Item& v, F f) {
  for (int d = 1; d < dtype_count; ++d)
    if (v.any().tensor >> d & 1) {
      CAPTURE(name_of(static_cast<DType>(d)));
      f(static_cast<DType>(d));
    }
}

/// A pool for the length of a test, so that large copies run in parallel.
struct WithThreads {
  ThreadPool pool{3};
  ScopedPool scope{pool};
};

}  // namespace tenon::test

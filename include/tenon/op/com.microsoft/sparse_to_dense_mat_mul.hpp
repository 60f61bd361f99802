// SparseToDenseMatMul: the product of a sparse and a dense matrix.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.SparseToDenseMatMul
#pragma once

#include <algorithm>
#include <type_traits>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/uncontracted.hpp"
#include "tenon/op/families/sparse.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = alpha A' B', where A' is the sparse matrix A, with transA transposed, and B' likewise. As in ONNX
/// Runtime, alpha scales products of floats alone. A comes from an input of the graph or from a sparse
/// initializer. op::com_microsoft::SparseToDenseMatMul{.transB = 1}(a, b) of (2,3) and (4,3) gives (2,4).
struct SparseToDenseMatMul {
  float alpha = 1;
  int64_t transA = 0;
  int64_t transB = 0;

  static constexpr TypeSet numbers =
      types::float32 | types::float64 | types::int32 | types::int64 | types::uint32 | types::uint64;
  static constexpr Spec spec{.name = "SparseToDenseMatMul",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"A", "T"}, {"B", "T1"}},
                             .outputs = {{"Y", "T1"}},
                             .types = {{"T1", numbers}, {"T", sparse(numbers)}}};
  static constexpr Attributes attributes{attr("alpha", &SparseToDenseMatMul::alpha),
                                         attr("transA", &SparseToDenseMatMul::transA).flag(),
                                         attr("transB", &SparseToDenseMatMul::transB).flag()};

  constexpr void infer(Infer& i) const {
    const DType a = i.dtype(0), b = i.dtype(1);
    if (a != b && a != DType::undefined && b != DType::undefined)
      return i.fail_type("A has elements of ", a, ", B of ", b);
    if (!i.expect_rank(0, 2) || !i.expect_rank(1, 2)) return;
    const auto extent = [&](int input, bool axis) { return i.ranked(input) ? i.dims(input)[axis] : Dim(); };
    i.unify(extent(0, transA == 0), extent(1, transB != 0), "inner extents");
    if (!i.failed()) i.out(0, {extent(0, transA != 0), extent(1, transB == 0)});
  }
  template <class T>
  void compute(const Value& a, TensorView<const T> b, TensorView<T> y) const {
    const SparseTensor& s = a.sparse_tensor();
    check_sparse(spec.name, s);
    std::fill_n(y.data(), y.size(), T{});
    const auto* at = static_cast<const int64_t*>(s.indices.data());
    const auto* values = static_cast<const T*>(s.values.data());
    const bool coordinates = s.indices.rank() == 2;
    const int64_t count = s.values.size(), columns = s.extents[1], width = y.extent(1);
    const int64_t along = transB ? 1 : b.extent(1), across = transB ? b.extent(1) : 1;
    parallel_for(width, std::max<int64_t>(1, task_work::cheap / (count + 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t v = 0; v < count; ++v) {
                     const int64_t row = coordinates ? at[2 * v] : at[v] / columns,
                                   column = coordinates ? at[2 * v + 1] : at[v] % columns;
                     const T* from = b.data() + (transA ? row : column) * along;
                     T* to = y.data() + (transA ? column : row) * width;
                     for (int64_t n = begin; n < end; ++n) add_product(to[n], values[v], from[n * across]);
                   }
                 });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  template <class T>
  void add_product(T& sum, T a, T b) const {
    if constexpr (std::is_integral_v<T>) {  // wraps
      using U = std::make_unsigned_t<T>;
      sum = static_cast<T>(static_cast<U>(sum) + static_cast<U>(a) * static_cast<U>(b));
    } else if constexpr (std::is_same_v<T, float>) {
      sum += uncontracted(a * alpha * b);
    } else {
      sum += uncontracted(a * b);
    }
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::SparseToDenseMatMul)

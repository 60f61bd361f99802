// FusedMatMul, TransposeMatMul: matrix product of transposed factors, scaled.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.FusedMatMul
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/mul.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

namespace fused_mat_mul_detail {

/// The order of a factor's axes that makes its last two the matrix: with `batch_last`, it is stored as (rows,
/// batch..., columns), and with `matrix` rows and columns are exchanged.
constexpr Ints order(int rank, bool matrix, bool batch_last) {
  Ints perm;
  if (rank < 2) {
    for (int k = 0; k < rank; ++k) perm.push_back(k);
    return perm;
  }
  for (int k = batch_last ? 1 : 0; k < (batch_last ? rank - 1 : rank - 2); ++k) perm.push_back(k);
  const int rows = batch_last ? 0 : rank - 2, columns = rank - 1;
  perm.push_back(matrix ? columns : rows);
  perm.push_back(matrix ? rows : columns);
  return perm;
}

constexpr Dims extents(const Dims& d, bool matrix, bool batch_last) {
  if (!d.ranked()) return d;
  Dims r = Dims::of_rank(0);
  for (const int64_t k : order(d.rank(), matrix, batch_last)) r.push_back(d[static_cast<int>(k)]);
  return r;
}

/// Both operators: TransposeMatMul is an earlier name of the same.
template <Str Name>
struct Product {
  float alpha = 1;
  int64_t transA = 0;
  int64_t transB = 0;
  int64_t transBatchA = 0;  ///< A is (rows, batch..., columns)
  int64_t transBatchB = 0;  ///< B likewise

  static constexpr Spec spec{.name = Name,
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats_bf16}}};
  static constexpr Attributes attributes{
      attr("alpha", &Product::alpha), attr("transA", &Product::transA).flag(),
      attr("transB", &Product::transB).flag(), attr("transBatchA", &Product::transBatchA).flag(),
      attr("transBatchB", &Product::transBatchB).flag()};

  constexpr void infer(Infer& i) const {
    i.out(0, infer_matmul(i, extents(i.dims(0), transA != 0, transBatchA != 0),
                          extents(i.dims(1), transB != 0, transBatchB != 0)));
  }
  template <class L>
  int32_t lower(L& to) const {
    const int32_t a = factor(to, 0, transA != 0, transBatchA != 0),
                  b = factor(to, 1, transB != 0, transBatchB != 0);
    if (a < 0 || b < 0) return -1;
    const int32_t y = to.add(MatMul{}, {a, b});
    const DType type = to.in(0).type.element;
    return alpha == 1 ? y : to.add(Mul{}, {y, function_body::number(to, type, static_cast<double>(alpha))});
  }
  template <class L>
  void loops(L& l) const {
    if (!l.dims(0).ranked() || !l.dims(1).ranked()) return;
    add_matmul_loops(
        l, {.order = {fused_mat_mul_detail::order(l.dims(0).rank(), transA != 0, transBatchA != 0),
                      fused_mat_mul_detail::order(l.dims(1).rank(), transB != 0, transBatchB != 0)}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  template <class L>
  static int32_t factor(L& to, int k, bool matrix, bool batch_last) {
    if (!matrix && !batch_last) return to.input(k);
    if (!to.dims(k).ranked()) return -1;
    return function_body::transposed(to, to.input(k), order(to.dims(k).rank(), matrix, batch_last));
  }
};

}  // namespace fused_mat_mul_detail

/// Y = alpha A' B', where A' is A, with transA its matrices transposed, and B' likewise; vectors have no
/// other order. op::com_microsoft::FusedMatMul{.transB = 1}(a, b) of (5,2,3) and (4,3) gives (5,2,4).
using FusedMatMul = fused_mat_mul_detail::Product<"FusedMatMul">;
/// The name of FusedMatMul in files of earlier versions.
/// op::com_microsoft::TransposeMatMul{.transB = 1}(a, b) of (5,2,3) and (4,3) gives (5,2,4).
using TransposeMatMul = fused_mat_mul_detail::Product<"TransposeMatMul">;

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::FusedMatMul, tenon::op::com_microsoft::TransposeMatMul)

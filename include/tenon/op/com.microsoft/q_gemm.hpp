// QGemm: matrix product of quantised tensors with an addend.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QGemm
#pragma once

#include "tenon/op/families/integer_product_body.hpp"
#include "tenon/op/families/quantized_body.hpp"
#include "tenon/op/math/gemm.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = alpha * a_scale * b_scale * ((A' - a_zero_point) (B' - b_zero_point) + C), where A' (M,K) is A or with
/// transA its transpose, B' (K,N) likewise, and C is stretched to (M,N). Quantised if y_scale is given, else
/// float. B's scale and zero point are one number or one for each column of B'.
/// op::com_microsoft::QGemm{}(a, 0.5f, uint8_t{0}, b, 0.5f, uint8_t{0}) of (2,3) and (3,4) gives (2,4).
struct QGemm {
  float alpha = 1;
  int64_t transA = 0;
  int64_t transB = 0;

  static constexpr Spec spec{.name = "QGemm",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"A", "TA"},
                                        {"a_scale", "tensor(float)"},
                                        {"a_zero_point", "TA"},
                                        {"B", "TB"},
                                        {"b_scale", "tensor(float)"},
                                        {"b_zero_point", "TB"},
                                        {"C", "tensor(int32)", optional},
                                        {"y_scale", "tensor(float)", optional},
                                        {"y_zero_point", "TYZ", optional}},
                             .outputs = {{"Y", "TY"}},
                             .types = {{"TA", signed_or_not_bytes},
                                       {"TB", signed_or_not_bytes},
                                       {"TYZ", signed_or_not_bytes},
                                       {"TY", signed_or_not_bytes | types::float32}}};
  static constexpr Attributes attributes{attr("alpha", &QGemm::alpha), attr("transA", &QGemm::transA).flag(),
                                         attr("transB", &QGemm::transB).flag()};

  constexpr void infer(Infer& i) const {
    if (!expect_ones(i, {1, 2, 7, 8})) return;
    if (i.has(7) != i.has(8)) return i.fail("y_scale and y_zero_point come together");
    gemm_detail::infer_gemm(i, transA != 0, transB != 0, i.dims(0), i.dims(3), i.dims(6));
    if (i.failed()) return;
    for (int k : {1, 4})
      if (i.dims(k).rank() > 2) return i.fail(i.name(k), ": ", i.dims(k), " has more axes than Y");
    for (int k : {4, 5})
      if (!i.dims(k).count().is(1) && (!i.expect_rank(k, 1) || !i.expect_extents(k, {i.out(0).dims[1]})))
        return;
    i.out(0).type = i.has(8) ? i.in(8).type : Type(DType::float32);
  }
  template <class L>
  int32_t lower(L& to) const {
    using namespace function_body;
    const int32_t a = transA != 0 ? transposed(to, to.input(0), {1, 0}) : to.input(0),
                  b = transB != 0 ? transposed(to, to.input(3), {1, 0}) : to.input(3);
    int32_t sums = to.add(MatMulInteger{}, {a, b, to.input(2), to.input(5)});
    if (to.input(6) >= 0) sums = to.add(Add{}, {sums, to.input(6)});
    int32_t scale = to.add(Mul{}, {to.input(1), to.input(4)});
    if (alpha != 1) scale = to.add(Mul{}, {scale, number(to, DType::float32, static_cast<double>(alpha))});
    const int32_t y = to.add(Mul{}, {to.add(Cast{.to = tenon::dtype<float>}, {sums}), scale});
    return to.input(7) < 0 ? y : quantized(to, y, 7, 8, to.in(8).type.element);
  }
  template <class L>
  void loops(L& l) const {
    const bool sums = !l.has(7);  // sums of rounded parts are other ones
    gemm_detail::add_gemm_loops(l, transA != 0, transB != 0, sums, 0, 3, 6, {4, 5});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::QGemm)

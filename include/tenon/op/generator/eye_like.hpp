// EyeLike: ones on a diagonal.   onnx.ai/onnx/operators/onnx__EyeLike.html
#pragma once

#include "tenon/base/convert.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// A matrix of input's extents, of type `dtype` or else the input's, that is 1 at (i, i + k) and 0 elsewhere.
/// op::EyeLike{.k = 1}(x) of (2,2) gives ((0,1),(0,0)).
struct EyeLike {
  Opt<int64_t> dtype{};
  int64_t k = 0;  ///< below 0: a diagonal below the main one

 private:
  static constexpr TypeSet types_9 = types::numeric | types::boolean, types_22 = types_9 | types::bfloat16;

 public:
  static constexpr Spec spec{
      .name = "EyeLike",
      .since = {9, 22},
      .inputs = {{"input", "T1"}},
      .outputs = {{"output", "T2"}},
      .types = {{"T1", {{9, types_9}, {22, types_22}}}, {"T2", {{9, types_9}, {22, types_22}}}}};
  static constexpr Attributes attributes{attr("dtype", &EyeLike::dtype), attr("k", &EyeLike::k)};

  constexpr void infer(Infer& i) const {
    i.out(0).type = dtype ? Type(i.element_type("dtype", *dtype)) : i.in(0).type;
    if (i.expect_rank(0, 2)) i.out(0, i.dims(0));
  }
  void compute(AnyView, AnyOut output) const {
    if (output.empty()) return;
    alignas(16) static constexpr char zero[16]{};
    const DType d = output.dtype();
    kernels::fill(d, output.data(), zero, output.size());
    const int64_t rows = output.extent(0), columns = output.extent(1);
    if (k >= columns || k <= -rows) return;
    const int64_t count = k < 0 ? std::min(rows + k, columns) : std::min(rows, columns - k);
    const int64_t step = columns + 1, still = 0;
    alignas(16) char one[16];
    const bool truth = true;
    convert_n(d, one, DType::bool_, &truth, 1);
    kernels::move(d, output.data(), {k < 0 ? -k * columns : k, &step}, one, {0, &still}, {&count, 1});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::EyeLike)

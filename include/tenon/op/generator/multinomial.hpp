// Multinomial: classes drawn by their log-probabilities.   onnx.ai/onnx/operators/onnx__Multinomial.html
#pragma once

#include "tenon/op/families/random.hpp"

namespace tenon::TENON_ABI::op {

/// For each row of the input (batch, classes), `sample_size` classes of type `dtype` (int32 or int64), each
/// drawn with probabilities in proportion to exp(input); families/random.hpp states what `seed` means.
/// Error{invalid_argument} for a row that gives no probabilities: without classes, with NaN or +infinity, or
/// with -infinity alone. op::Multinomial{.sample_size = 5}(x) of (2,3) gives (2,5).
struct Multinomial {
  int64_t dtype = 6;
  int64_t sample_size = 1;
  Opt<float> seed{};

  static constexpr Spec spec{
      .name = "Multinomial",
      .since = {7, 22},
      .inputs = {{"input", "T1"}},
      .outputs = {{"output", "T2"}},
      .types = {{"T1", {{7, types::floats}, {22, types::floats_bf16}}}, {"T2", types::indices}},
      .deterministic = false};
  static constexpr Attributes attributes{attr("dtype", &Multinomial::dtype),
                                         attr("sample_size", &Multinomial::sample_size),
                                         attr("seed", &Multinomial::seed)};

  constexpr void infer(Infer& i) const {
    i.out(0).type = i.element_type("dtype", dtype);
    if (!i.expect_rank(0, 2) || !i.expect_at_least("sample_size", sample_size, 0)) return;
    i.out(0, {i.ranked(0) ? i.dims(0)[0] : Dim(), sample_size});
  }
  template <class T>
  void compute(TensorView<const T> input, AnyOut output) const {
    if (output.empty()) return;
    const Opt<uint32_t> key = random_key(seed);
    const auto draw = [&]<class I>(I* y) {
      if (!kernels::random_multinomial(input.data(), y, input.extent(0), input.extent(1), sample_size,
                                       key ? *key : kernels::fresh_seed()))
        raise(ErrorCode::invalid_argument, spec.name, "a row of the input holds no probabilities");
    };
    if (output.dtype() == DType::int32) draw(output.as<int32_t>().data());
    else draw(output.as<int64_t>().data());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Multinomial)

// Bernoulli: ones with given probabilities.   onnx.ai/onnx/operators/onnx__Bernoulli.html
#pragma once

#include "tenon/base/convert.hpp"
#include "tenon/op/families/random.hpp"

namespace tenon::TENON_ABI::op {

/// Each element is 1 with the probability that the input states, else 0, of type `dtype` or else the input's;
/// families/random.hpp states what `seed` means. Error{out_of_range} for a probability outside of [0, 1].
/// op::Bernoulli{.dtype = dtype<bool>}(p) of (2,3) gives (2,3).
struct Bernoulli {
  Opt<int64_t> dtype{};
  Opt<float> seed{};

  static constexpr Spec spec{.name = "Bernoulli",
                             .since = {15, 22},
                             .inputs = {{"input", "T1"}},
                             .outputs = {{"output", "T2"}},
                             .types = {{"T1", {{15, types::floats}, {22, types::floats_bf16}}},
                                       {"T2", types::numeric_bf16 | types::boolean}},
                             .deterministic = false};
  static constexpr Attributes attributes{attr("dtype", &Bernoulli::dtype), attr("seed", &Bernoulli::seed)};

  constexpr void infer(Infer& i) const { infer_random_like(i, dtype); }
  template <class T>
  void compute(TensorView<const T> input, AnyOut output) const {
    const int64_t n = input.size();
    for (int64_t k = 0; k < n; ++k) {
      const auto p = static_cast<double>(input[k]);
      if (!(p >= 0 && p <= 1))
        raise(ErrorCode::out_of_range, spec.name, "probability ", convert<std::string>(p),
              " outside of [0, 1]");
    }
    Scratch scratch;
    bool* ones = scratch.take<bool>(n);
    with_random(seed, [&](const auto& source) { kernels::random_bernoulli(input.data(), ones, n, source); });
    convert_n(output.dtype(), output.data(), DType::bool_, ones, n);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Bernoulli)

// Shrink: numbers moved towards zero, small ones to it.   onnx.ai/onnx/operators/onnx__Shrink.html
#pragma once

#include <utility>

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = input < -lambd ? input + bias : input > lambd ? input - bias : 0, so 0 for NaN. Sums of an
/// integer and the bias are truncated towards zero, and wrap. op::Shrink{.bias = 1}(3.0f) gives 2.
struct Shrink {
  float bias = 0;
  float lambd = 0.5f;

  static constexpr Spec spec{.name = "Shrink",
                             .since = {9},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::numeric}},
                             .elements = Elements::function};
  static constexpr Attributes attributes{attr("bias", &Shrink::bias), attr("lambd", &Shrink::lambd)};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    if constexpr (std::is_integral_v<T>) {
      const double low = -lambd, high = lambd;
      kernels::unary_each(x.data(), y.data(), x.size(), [=, up = Shift(bias), down = Shift(-bias)](T v) {
        const auto number = static_cast<double>(v);
        return number < low ? up(v) : number > high ? down(v) : T(0);
      });
    } else {
      unary<kernels::UnaryOp::shrink>(x, y, {.alpha = lambd, .beta = bias});
    }
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// v + by, truncated towards zero. Exact for all integers, even if a double cannot hold them.
  struct Shift {
    uint64_t whole;
    float rest;
    explicit Shift(float by) : whole(tenon::detail::truncate_to<uint64_t>(by)), rest(by - std::trunc(by)) {}
    template <class T>
    T operator()(T v) const {
      const uint64_t sum = static_cast<uint64_t>(v) + whole;
      // A bias with a fraction is small. The fraction matters if its sign is not the sum's.
      const auto zero = static_cast<int64_t>(0 - whole);
      if (rest > 0 && std::cmp_less(v, zero)) return static_cast<T>(sum + 1);
      if (rest < 0 && std::cmp_greater(v, zero)) return static_cast<T>(sum - 1);
      return static_cast<T>(sum);
    }
  };
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Shrink)

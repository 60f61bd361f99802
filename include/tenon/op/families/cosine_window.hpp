// The windows of signal processing that are sums of two cosines.
#pragma once

#include <cmath>
#include <numbers>

#include "tenon/base/convert.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// output[n] = A0 - A1 cos(2 pi n / N) + A2 cos(4 pi n / N) for n from 0 to `size` - 1, with N = size or, if
/// `periodic` is 0, size - 1 (then the only number of size 1 is NaN, by the formula). Computed in double,
/// rounded to float unless the type of number `output_datatype` is double, and converted to that type as Cast
/// would.
template <Str Name, Real A0, Real A1, Real A2>
struct CosineWindow {
  int64_t output_datatype = 1;
  int64_t periodic = 1;

  static constexpr Spec spec{.name = Name,
                             .since = {17},
                             .inputs = {{"size", "T1"}},
                             .outputs = {{"output", "T2"}},
                             .types = {{"T1", types::indices}, {"T2", types::numeric_bf16}}};
  static constexpr Attributes attributes{attr("output_datatype", &CosineWindow::output_datatype),
                                         attr("periodic", &CosineWindow::periodic).flag()};

  constexpr void infer(Infer& i) const {
    i.out(0).type = i.element_type("output_datatype", output_datatype);
    const Dim size = i.item(0);
    i.for_files([&] {
      if (size.known()) i.expect_rank(0, 0);
    });
    if (i.expect_one(0) && i.expect_at_least("size", size, 1)) i.out(0, {size});
  }
  void compute(AnyView, AnyOut output) const {
    constexpr int64_t panel = 256;
    const int64_t size = output.size();
    const double step = 2 * std::numbers::pi / static_cast<double>(periodic != 0 ? size : size - 1);
    auto* bytes = static_cast<char*>(output.data());
    parallel_for(size, 4 * panel, [&](int64_t begin, int64_t end) {
      double values[panel]{};
      for (int64_t at = begin; at < end; at += panel) {
        const int64_t count = std::min(panel, end - at);
        for (int64_t k = 0; k < count; ++k) {
          const double angle = step * static_cast<double>(at + k);
          values[k] = A0.value - A1.value * std::cos(angle);
          if constexpr (A2.value != 0) values[k] += A2.value * std::cos(2 * angle);
        }
        if (output.dtype() != DType::float64)  // as ONNX's definition, where 1 is 1 for integers too
          for (double& v : values) v = static_cast<double>(static_cast<float>(v));
        convert_n(output.dtype(), bytes + at * bits_of(output.dtype()) / 8, DType::float64, values, count);
      }
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

// Range: numbers from a start to a limit.   onnx.ai/onnx/operators/onnx__Range.html
#pragma once

#include <cmath>

#include "tenon/base/costs.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

namespace range_detail {

/// The number of elements from start to limit, limit excluded; none if it is undefined: delta is 0, or there
/// is no end.
template <class T>
Opt<int64_t> count(T start, T limit, T delta) {
  if constexpr (std::is_integral_v<T>) {
    if (delta == 0) return {};
    if (delta > 0 ? start >= limit : start <= limit) return 0;
    const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(limit),
               step = static_cast<uint64_t>(delta);
    const uint64_t n = (delta > 0 ? to - from - 1 : from - to - 1) / (delta > 0 ? step : 0 - step) + 1;
    if (n > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return {};
    return static_cast<int64_t>(n);
  } else {
    const double n = std::ceil(static_cast<double>(limit - start) / static_cast<double>(delta));
    if (!(n < 0x1p62)) return {};
    return n < 0 ? 0 : static_cast<int64_t>(n);
  }
}

}  // namespace range_detail

/// start + k * delta, as long as limit is not reached. Scalars may be one element of any rank, as ONNX's own
/// AffineGrid has them. op::Range{}(3, 9, 3) gives (3,6).
struct Range {
  int64_t stash_type = 1;  ///< in which float16 and bfloat16 are computed: 1 float, 11 double

  static constexpr Spec spec{
      .name = "Range",
      .since = {11, 27},
      .inputs = {{"start", "T"}, {"limit", "T"}, {"delta", "T"}},
      .outputs = {{"output", "T"}},
      .types = {{"T",
                 {{11, types::float32 | types::float64 | types::int16 | types::int32 | types::int64},
                  {27, types::floats_bf16 | types::int16 | types::int32 | types::int64}}}}};
  static constexpr Attributes attributes{attr("stash_type", &Range::stash_type).since(27)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("stash_type", stash_type, {1, 11})) return;
    for (int k = 0; k < 3; ++k)
      if (!i.expect_one(k)) return;
    i.out(0, Dims::of_rank(1));
    visit_types<float, double, float16, bfloat16, int16_t, int32_t, int64_t>(i.dtype(0), [&]<class T>() {
      compute_t<T> bounds[3]{};
      for (int k = 0; k < 3; ++k) {
        if (!i.has(k)) {  // a delta left out, as other domains' operators permit
          bounds[k] = 1;
          continue;
        }
        if constexpr (is_propagated(dtype_of<T>)) {
          const Opt<int64_t> number = int_at(i, k, 0);
          if (!number) return;
          bounds[k] = static_cast<T>(*number);
        } else {
          const T* number = i.data<T>(k);
          if (number == nullptr) return;
          bounds[k] = static_cast<compute_t<T>>(*number);
        }
      }
      const Opt<int64_t> count = range_detail::count(bounds[0], bounds[1], bounds[2]);
      if (!count) return i.fail("delta is 0, or there is no end");
      i.out(0, Dims{*count});
    });
  }
  template <class T>
  void compute(TensorView<const T> start, TensorView<const T>, TensorView<const T> delta,
               TensorView<T> output) const {
    T* const y = output.data();
    parallel_for(output.size(), task_work::cheap, [&](int64_t begin, int64_t end) {
      if constexpr (std::is_integral_v<T>) {
        const auto first = static_cast<uint64_t>(start[0]), step = static_cast<uint64_t>(delta[0]);
        for (int64_t k = begin; k < end; ++k) y[k] = static_cast<T>(first + static_cast<uint64_t>(k) * step);
      } else {
        const auto first = static_cast<double>(static_cast<compute_t<T>>(start[0])),
                   step = static_cast<double>(static_cast<compute_t<T>>(delta[0]));
        for (int64_t k = begin; k < end; ++k)
          y[k] = T(static_cast<compute_t<T>>(first + static_cast<double>(k) * step));
      }
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Range)

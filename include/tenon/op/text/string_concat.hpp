// StringConcat: strings joined element by element.   onnx.ai/onnx/operators/onnx__StringConcat.html
#pragma once

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/kernels/elementwise/broadcast.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// Z = X followed by Y, with numpy's broadcasting. op::StringConcat{}(s, t) of ("a") and ("b") gives ("ab").
struct StringConcat {
  static constexpr Spec spec{.name = "StringConcat",
                             .since = {20},
                             .inputs = {{"X", "T"}, {"Y", "T"}},
                             .outputs = {{"Z", "T"}},
                             .types = {{"T", types::string}}};

  constexpr void infer(Infer& i) const { i.out(0, i.broadcast(i.dims(0), i.dims(1))); }
  void compute(TensorView<const std::string> x, TensorView<const std::string> y,
               TensorView<std::string> z) const {
    const auto plan = kernels::broadcast_plan(x.extents(), y.extents());
    const int64_t step_x = plan.strides[0][plan.rank - 1], step_y = plan.strides[1][plan.rank - 1];
    parallel_for(z.size(), task_work::strings, [&](int64_t begin, int64_t end) {
      kernels::for_each_run(plan, begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
        for (int64_t k = 0; k < count; ++k) {
          const std::string &a = x[offsets[0] + k * step_x], &b = y[offsets[1] + k * step_y];
          std::string& to = z[at + k];
          to.reserve(a.size() + b.size());
          to.assign(a).append(b);
        }
      });
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::StringConcat)

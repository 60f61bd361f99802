// DynamicTimeWarping: the path of least cost through a matrix.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.DynamicTimeWarping
#pragma once

#include <limits>

#include "tenon/base/scratch.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// The rows (first line of the result) and columns of the path through costs (M, N), or (1, M, N), from the
/// first element to the last: each step goes to the next row, column, or both. Of ways of equal cost the step
/// to the next column is taken. The alignment of a transcript's tokens with frames of sound is such a path.
/// op::com_microsoft::DynamicTimeWarping{}(costs) of ((0,1),(1,0)) gives ((0,1),(0,1)).
struct DynamicTimeWarping {
  static constexpr Spec spec{.name = "DynamicTimeWarping",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"input", "F"}},
                             .outputs = {{"output", "I"}},
                             .types = {{"F", types::float32}, {"I", types::int32}}};
  static constexpr Attributes<> attributes{};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    if (x.ranked() && x.rank() != 2 && (x.rank() != 3 || x[0].differs(1)))
      return i.fail("input: ", x, ", expected one matrix");
    i.out(0, {2, Dim()});
  }
  Tensor<int32_t> compute(Context& c, TensorView<const float> x) const {
    const int64_t rows = x.extent(-2), columns = x.extent(-1);
    Scratch scratch;
    // The costs of paths to the elements of a column and to those of the last one, which a border precedes.
    float *here = scratch.take<float>(rows + 1), *before = scratch.take<float>(rows + 1);
    auto* const steps = scratch.take<Step>(rows * columns);
    std::fill_n(before, rows + 1, std::numeric_limits<float>::infinity());
    before[0] = 0;
    for (int64_t j = 0; j < columns; ++j) {
      here[0] = std::numeric_limits<float>::infinity();
      for (int64_t i = 0; i < rows; ++i) {
        const float both = before[i], row = here[i], column = before[i + 1];
        const Step step = both < row && both < column  ? Step::both
                          : row < both && row < column ? Step::row
                                                       : Step::column;
        const float least = step == Step::both ? both : step == Step::row ? row : column;
        here[i + 1] = least + x[i * columns + j];
        steps[i * columns + j] = step;
      }
      std::swap(here, before);
    }
    const auto back = [&](auto&& visit) {
      for (int64_t i = rows - 1, j = columns - 1; i >= 0 && j >= 0;) {
        visit(i, j);
        const Step step = steps[i * columns + j];
        i -= step != Step::column;
        j -= step != Step::row;
      }
    };
    int64_t length = 0;
    back([&](int64_t, int64_t) { ++length; });
    auto y = Tensor<int32_t>::uninitialized({{2, length}}, c.allocator());
    int64_t at = length;
    back([&](int64_t i, int64_t j) {
      y[--at] = static_cast<int32_t>(i);
      y[at + length] = static_cast<int32_t>(j);
    });
    return y;
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  enum class Step : int8_t { both, row, column };
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::DynamicTimeWarping)

// OneHotEncoder: a 1 at the place of a category.   onnx.ai/onnx/operators/onnx_aionnxml_OneHotEncoder.html
#pragma once

#include "tenon/base/convert.hpp"
#include "tenon/base/costs.hpp"
#include "tenon/kernels/lookup.hpp"
#include "tenon/op/families/features.hpp"

namespace tenon::TENON_ABI::op {

/// Y (…, C) has for each element of X (…) a 1 at the place of its category, and zeros elsewhere. Numbers are
/// truncated to integers. An element of no category gives zeros, or with `zeros` = 0 an
/// Error{invalid_argument}. op::OneHotEncoder{.cats_int64s = {1, 2}}(x) of (3) gives (3,2).
struct OneHotEncoder {
  std::vector<int64_t> cats_int64s{};
  std::vector<std::string> cats_strings{};
  int64_t zeros = 1;

  static constexpr Spec spec{.name = "OneHotEncoder",
                             .domain = "ai.onnx.ml",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "tensor(float)"}},
                             .types = {{"T", feature_types | types::string}}};
  static constexpr Attributes attributes{attr("cats_int64s", &OneHotEncoder::cats_int64s),
                                         attr("cats_strings", &OneHotEncoder::cats_strings),
                                         attr("zeros", &OneHotEncoder::zeros).flag()};

  void infer(Infer& i) const {
    if (cats_int64s.empty() == cats_strings.empty())
      return i.fail("states ", cats_int64s.empty() ? "no categories" : "categories of two types");
    if ((i.dtype(0) == DType::string) == cats_strings.empty())
      return i.fail_type("X and the categories are of different types");
    if (!i.ranked(0)) return;
    if (i.dims(0).rank() == max_rank) return i.fail("X has no room for another axis");
    Dims y = i.dims(0);
    y.push_back(static_cast<int64_t>(std::max(cats_int64s.size(), cats_strings.size())));
    i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<float> y) const {
    compute_with(prepare<T>(), x, y);
  }
  template <class T>
  auto prepare() const {
    if constexpr (std::is_same_v<T, std::string>) return kernels::Lookup<std::string>{cats_strings};
    else return kernels::Lookup<int64_t>{cats_int64s};
  }
  template <class T, class K>
  void compute_with(const kernels::Lookup<K>& place, TensorView<const T> x, TensorView<float> y) const {
    const int64_t width = y.extent(-1);
    parallel_for(x.size(), std::max<int64_t>(task_work::cheap / width, 64), [&](int64_t begin, int64_t end) {
      std::fill(y.data() + begin * width, y.data() + end * width, 0.0f);
      for (int64_t k = begin; k < end; ++k) {
        const int64_t at = find(place, x[k]);
        if (at >= 0) y[k * width + at] = 1;
        else if (zeros == 0)
          raise(ErrorCode::invalid_argument, spec.name, "'", convert<std::string>(x[k]), "' at ", k,
                " is of no category");
      }
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// -1 for an element of no category.
  template <class K, class T>
  static int64_t find(const kernels::Lookup<K>& place, const T& x) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!(x >= T(-0x1p63) && x < T(0x1p63))) return -1;
      return place.find(static_cast<int64_t>(x));
    } else {
      return place.find(x);
    }
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::OneHotEncoder)

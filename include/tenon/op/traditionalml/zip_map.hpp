// ZipMap: rows as maps from labels.   onnx.ai/onnx/operators/onnx_aionnxml_ZipMap.html
#pragma once

#include "tenon/kernels/lookup.hpp"
#include "tenon/op/families/features.hpp"

namespace tenon::TENON_ABI::op {

/// A sequence with a map from the C labels to the elements of each row of X (N,C), or of X (C), which is one
/// row. Of equal labels the last one counts.
/// op::ZipMap{.classlabels_int64s = {3, 5}}(x) of ((0.1,0.9)) gives ({3: 0.1, 5: 0.9}).
struct ZipMap {
  std::vector<int64_t> classlabels_int64s{};
  std::vector<std::string> classlabels_strings{};

  static constexpr Spec spec{.name = "ZipMap",
                             .domain = "ai.onnx.ml",
                             .since = {1},
                             .inputs = {{"X", "tensor(float)"}},
                             .outputs = {{"Z", "T"}},
                             .types = {{"T", TypeSet{.sequence_map_int64 = types::float32.tensor,
                                                     .sequence_map_string = types::float32.tensor}}}};
  static constexpr Attributes attributes{attr("classlabels_int64s", &ZipMap::classlabels_int64s),
                                         attr("classlabels_strings", &ZipMap::classlabels_strings)};

  void infer(Infer& i) const {
    const ClassLabels labels{classlabels_strings, classlabels_int64s};
    if (!labels.expect_one_kind(i, "label") || !expect_rows(i)) return;
    if (labels.count() == 0) return i.fail("states no labels");
    if (feature_count(i.dims(0)).differs(labels.count()))
      return i.fail(labels.count(), " labels for ", feature_count(i.dims(0)), " columns");
    i.out(0).type = Type(Kind::sequence_map, DType::float32, labels.dtype());
  }
  Value compute(Context& c, TensorView<const float> x) const {
    return classlabels_strings.empty() ? zip(c, x, classlabels_int64s) : zip(c, x, classlabels_strings);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// The maps share one tensor of keys, and one block of values.
  template <class K>
  static Sequence zip(Context& c, TensorView<const float> x, const std::vector<K>& labels) {
    const kernels::Lookup<K> last{labels};
    std::vector<K> keys;
    std::vector<int64_t> columns;
    for (std::size_t k = 0; k < labels.size(); ++k)
      if (last.find(labels[k]) == static_cast<int64_t>(k)) {
        keys.push_back(labels[k]);
        columns.push_back(static_cast<int64_t>(k));
      }
    const auto width = static_cast<int64_t>(labels.size()), count = static_cast<int64_t>(keys.size());
    const int64_t rows = row_count(x);
    const AnyTensor key_tensor = Tensor<K>(Extents{count}, keys.begin(), keys.end());
    Storage values = Storage::make<float>(rows * count, c.allocator());
    Sequence maps{Type(Kind::map, DType::float32, dtype_of<K>), {}};
    maps.items.reserve(static_cast<std::size_t>(rows));
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
    for (int64_t r = 0; r < rows; ++r) {
      float* to = values.as<float>() + r * count;
      for (int64_t k = 0; k < count; ++k) to[k] = x[r * width + columns[static_cast<std::size_t>(k)]];
      const Storage own = values.slice(static_cast<std::size_t>(r) * bytes, bytes);
      maps.items.push_back(Map{key_tensor, AnyTensor(DType::float32, Extents{count}, own)});
    }
    return maps;
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ZipMap)

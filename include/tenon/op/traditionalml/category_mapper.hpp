// CategoryMapper: strings as integers, and back.   onnx.ai/onnx/operators/onnx_aionnxml_CategoryMapper.html
#pragma once

#include "tenon/op/families/labels.hpp"

namespace tenon::TENON_ABI::op {

/// cats_strings[k] and cats_int64s[k] stand for each other: strings become integers, integers strings, and
/// a category that neither list has becomes the default. Of equal categories the last one counts.
/// op::CategoryMapper{.cats_int64s = {7}, .cats_strings = {"a"}}(x) of ("a","b") gives (7,-1).
struct CategoryMapper {
  std::vector<int64_t> cats_int64s{};
  std::vector<std::string> cats_strings{};
  int64_t default_int64 = -1;
  std::string default_string = "_Unused";

  static constexpr Spec spec{
      .name = "CategoryMapper",
      .domain = "ai.onnx.ml",
      .since = {1},
      .inputs = {{"X", "T1"}},
      .outputs = {{"Y", "T2"}},
      .types = {{"T1", types::string | types::int64}, {"T2", types::string | types::int64}}};
  static constexpr Attributes attributes{attr("cats_int64s", &CategoryMapper::cats_int64s),
                                         attr("cats_strings", &CategoryMapper::cats_strings),
                                         attr("default_int64", &CategoryMapper::default_int64),
                                         attr("default_string", &CategoryMapper::default_string)};

  void infer(Infer& i) const {
    NumberedNames::infer(i);
    if (cats_int64s.empty() && cats_strings.empty())
      return i.fail("has neither cats_int64s nor cats_strings");
    if (cats_int64s.size() != cats_strings.size())
      i.fail("cats_int64s has ", cats_int64s.size(), " entries, cats_strings has ", cats_strings.size());
  }
  template <class T>
  void compute(TensorView<const T> x, AnyOut y) const {
    compute_with(prepare<T>(), x, y);
  }
  template <class T>
  kernels::Lookup<T> prepare() const {
    return names().lookup<T>();
  }
  template <class T>
  void compute_with(const kernels::Lookup<T>& place, TensorView<const T> x, AnyOut y) const {
    names().map(place, x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  NumberedNames names() const { return {cats_strings, cats_int64s, default_string, default_int64}; }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::CategoryMapper)

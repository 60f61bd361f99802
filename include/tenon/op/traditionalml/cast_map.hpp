// CastMap: a map as a tensor.   onnx.ai/onnx/operators/onnx_aionnxml_CastMap.html
#pragma once

#include <cstring>

#include "tenon/op/families/features.hpp"

namespace tenon::TENON_ABI::op {

/// Y (1,N) holds the values of a map from integers, ordered by their keys ("DENSE"), or (1,max_map), each at
/// the place that its key names, and zeros or "" elsewhere ("SPARSE"). Numbers become text with six decimals,
/// text may end in an f as in "1.0f". Error{invalid_argument} for text that is not a number,
/// Error{out_of_range} for a key outside of [0, max_map). op::CastMap{}(m) of {2: "1", 0: "5"} gives ((5,1)).
struct CastMap {
  Str cast_to = "TO_FLOAT";  ///< TO_FLOAT, TO_STRING, TO_INT64
  Str map_form = "DENSE";    ///< DENSE, SPARSE
  int64_t max_map = 1;

  static constexpr Spec spec{.name = "CastMap",
                             .domain = "ai.onnx.ml",
                             .since = {1},
                             .inputs = {{"X", "T1"}},
                             .outputs = {{"Y", "T2"}},
                             .types = {{"T1", TypeSet{.map_int64 = (types::string | types::float32).tensor}},
                                       {"T2", types::string | types::float32 | types::int64}}};
  static constexpr Attributes attributes{attr("cast_to", &CastMap::cast_to),
                                         attr("map_form", &CastMap::map_form),
                                         attr("max_map", &CastMap::max_map)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("cast_to", cast_to, {"TO_FLOAT", "TO_STRING", "TO_INT64"})) return;
    if (!i.expect_choice("map_form", map_form, {"DENSE", "SPARSE"})) return;
    const bool sparse = map_form == "SPARSE";
    if (sparse && !i.expect_at_least("max_map", max_map, 0)) return;
    i.out(0, type(), {1, sparse ? Dim(max_map) : Dim()});
  }
  Value compute(Context& c, const Value& x) const {
    const Map& map = x.map();
    const auto* keys = static_cast<const int64_t*>(map.keys.data());
    const int64_t count = map.keys.size();
    const bool sparse = map_form == "SPARSE";
    std::vector<int64_t> order(static_cast<std::size_t>(count));
    for (std::size_t k = 0; k < order.size(); ++k) {
      order[k] = static_cast<int64_t>(k);
      if (sparse && (keys[k] < 0 || keys[k] >= max_map))
        raise(ErrorCode::out_of_range, spec.name, "key ", keys[k], " outside of [0, ", max_map, ")");
    }
    if (!sparse)
      std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return keys[a] < keys[b]; });
    AnyTensor y = AnyTensor::uninitialized(type(), {1, sparse ? max_map : count}, c.allocator());
    if (y.dtype() != DType::string && !y.view().empty())
      std::memset(y.out().data(), 0, static_cast<std::size_t>(y.bytes()));
    for (int64_t k = 0; k < count; ++k) {
      const int64_t from = order[static_cast<std::size_t>(k)];
      convert_value(map.values, from, y.out(), sparse ? keys[from] : k);
    }
    return y;
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  constexpr DType type() const {
    return cast_to == "TO_FLOAT" ? DType::float32 : cast_to == "TO_STRING" ? DType::string : DType::int64;
  }
  static void convert_value(const AnyTensor& from, int64_t at, AnyOut to, int64_t place) {
    const auto put = [&]<class V>(const V& value) {
      if (to.dtype() == DType::float32) static_cast<float*>(to.data())[place] = convert<float>(value);
      else static_cast<int64_t*>(to.data())[place] = convert<int64_t>(value);
    };
    std::string* text = to.dtype() == DType::string ? static_cast<std::string*>(to.data()) + place : nullptr;
    if (from.dtype() == DType::string) {
      std::string value = static_cast<const std::string*>(from.data())[at];
      if (text) {
        *text = std::move(value);
        return;
      }
      if (const std::size_t n = value.size();
          n > 1 && value[n - 1] == 'f' &&
          (value[n - 2] == '.' || (value[n - 2] >= '0' && value[n - 2] <= '9')))
        value.pop_back();
      put(value);
    } else {
      const float value = static_cast<const float*>(from.data())[at];
      if (text) *text = tenon::detail::format_digits(value, std::chars_format::fixed, 6);
      else put(value);
    }
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::CastMap)

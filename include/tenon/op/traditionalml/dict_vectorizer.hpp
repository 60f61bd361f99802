// DictVectorizer: a map by a vocabulary.   onnx.ai/onnx/operators/onnx_aionnxml_DictVectorizer.html
#pragma once

#include "tenon/kernels/lookup.hpp"
#include "tenon/op/families/features.hpp"

namespace tenon::TENON_ABI::op {

/// Y (1,C) holds the map's value for each of the C entries of the vocabulary, 0 or "" for entries that are
/// not keys. Error{invalid_argument} for a key that the vocabulary lacks.
/// op::DictVectorizer{.string_vocabulary = {"a", "c", "b"}}(m) of {"a": 4, "c": 8} gives ((4,8,0)).
struct DictVectorizer {
  std::vector<int64_t> int64_vocabulary{};
  std::vector<std::string> string_vocabulary{};

  static constexpr Spec spec{
      .name = "DictVectorizer",
      .domain = "ai.onnx.ml",
      .since = {1},
      .inputs = {{"X", "T1"}},
      .outputs = {{"Y", "T2"}},
      .types = {{"T1", TypeSet{.map_int64 = (types::string | types::float32 | types::float64).tensor,
                               .map_string = (types::int64 | types::float32 | types::float64).tensor}},
                {"T2", types::int64 | types::float32 | types::float64 | types::string}}};
  static constexpr Attributes attributes{attr("int64_vocabulary", &DictVectorizer::int64_vocabulary),
                                         attr("string_vocabulary", &DictVectorizer::string_vocabulary)};

  void infer(Infer& i) const {
    if (int64_vocabulary.empty() == string_vocabulary.empty())
      return i.fail("states ", int64_vocabulary.empty() ? "no vocabulary" : "two vocabularies");
    const Type x = i.in(0).type;
    if (x.kind != Kind::map) return;
    if ((x.key == DType::string) == string_vocabulary.empty())
      return i.fail_type("keys and vocabulary are of different types");
    i.out(0, x.element,
          {1, static_cast<int64_t>(std::max(int64_vocabulary.size(), string_vocabulary.size()))});
  }
  Value compute(Context& c, const Value& x) const {
    const Map& map = x.map();
    return map.keys.dtype() == DType::string ? lay_out<std::string>(c, map, string_vocabulary)
                                             : lay_out<int64_t>(c, map, int64_vocabulary);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  template <class K>
  static AnyTensor lay_out(Context& c, const Map& map, const std::vector<K>& vocabulary) {
    const std::span<const K> keys(static_cast<const K*>(map.keys.data()),
                                  static_cast<std::size_t>(map.keys.size()));
    const kernels::Lookup<K> place{keys};
    std::vector<bool> known(keys.size());
    std::vector<int64_t> from(vocabulary.size());
    for (std::size_t k = 0; k < from.size(); ++k) {
      from[k] = place.find(vocabulary[k]);
      if (from[k] >= 0) known[static_cast<std::size_t>(from[k])] = true;
    }
    for (std::size_t k = 0; k < keys.size(); ++k)
      if (!known[k])
        raise(ErrorCode::invalid_argument, spec.name, "key '", keys[k], "' is not in the vocabulary");
    AnyTensor y =
        AnyTensor::uninitialized(map.values.dtype(), {1, static_cast<int64_t>(from.size())}, c.allocator());
    visit_types<int64_t, float, double, std::string>(y.dtype(), [&]<class V>() {
      const auto* values = static_cast<const V*>(map.values.data());
      auto* to = y.out().as<V>().data();
      for (std::size_t k = 0; k < from.size(); ++k) to[k] = from[k] < 0 ? V{} : values[from[k]];
    });
    return y;
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::DictVectorizer)

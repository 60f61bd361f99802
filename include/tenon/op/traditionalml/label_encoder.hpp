// LabelEncoder: elements as their keys' values.   onnx.ai/onnx/operators/onnx_aionnxml_LabelEncoder.html
#pragma once

#include <numeric>

#include "tenon/op/families/labels.hpp"
#include "tenon/op/framework/attribute.hpp"

namespace tenon::TENON_ABI::op {

/// Y = the value at the key that equals X's element, or the default. Exactly one list of keys is stated, of
/// X's type, and one list of as many values, of Y's type. Of equal keys the last one counts; NaNs are equal.
/// op::LabelEncoder{.keys_strings = {"a"}, .values_int64s = {5}}(x) of ("a","b") gives (5,-1).
struct LabelEncoder {
  float default_float = -0.0f;
  int64_t default_int64 = -1;
  std::string default_string = "_Unused";
  TensorAttribute default_tensor{};  ///< one element, instead of the other defaults
  std::vector<float> keys_floats{};
  std::vector<int64_t> keys_int64s{};
  std::vector<std::string> keys_strings{};
  TensorAttribute keys_tensor{};
  std::vector<float> values_floats{};
  std::vector<int64_t> values_int64s{};
  std::vector<std::string> values_strings{};
  TensorAttribute values_tensor{};

 private:
  static constexpr TypeSet labels_2 = types::string | types::int64 | types::float32;
  static constexpr TypeSet labels_4 = labels_2 | types::int32 | types::int16 | types::float64;

 public:
  static constexpr Spec spec{
      .name = "LabelEncoder",
      .domain = "ai.onnx.ml",
      .since = {2, 4},
      .inputs = {{"X", "T1"}},
      .outputs = {{"Y", "T2"}},
      .types = {{"T1", {{2, labels_2}, {4, labels_4}}}, {"T2", {{2, labels_2}, {4, labels_4}}}}};
  static constexpr Attributes attributes{attr("default_float", &LabelEncoder::default_float),
                                         attr("default_int64", &LabelEncoder::default_int64),
                                         attr("default_string", &LabelEncoder::default_string),
                                         attr("default_tensor", &LabelEncoder::default_tensor).since(4),
                                         attr("keys_floats", &LabelEncoder::keys_floats),
                                         attr("keys_int64s", &LabelEncoder::keys_int64s),
                                         attr("keys_strings", &LabelEncoder::keys_strings),
                                         attr("keys_tensor", &LabelEncoder::keys_tensor).since(4),
                                         attr("values_floats", &LabelEncoder::values_floats),
                                         attr("values_int64s", &LabelEncoder::values_int64s),
                                         attr("values_strings", &LabelEncoder::values_strings),
                                         attr("values_tensor", &LabelEncoder::values_tensor).since(4)};

  void infer(Infer& i) const {
    const int key_lists = stated(keys_floats, keys_int64s, keys_strings, keys_tensor);
    const int value_lists = stated(values_floats, values_int64s, values_strings, values_tensor);
    if (key_lists != 1) return i.fail("states ", key_lists, " lists of keys, not 1");
    if (value_lists != 1) return i.fail("states ", value_lists, " lists of values, not 1");
    const AnyView k = keys(), v = values();
    if (k.rank() != 1 || v.rank() != 1)
      return i.fail("keys ", Dims(k.extents()), " and values ", Dims(v.extents()), " are not lists");
    if (k.size() != v.size()) return i.fail(k.size(), " keys, but ", v.size(), " values");
    if (i.dtype(0) != DType::undefined && k.dtype() != i.dtype(0))
      return i.fail_type("keys are tensor(", k.dtype(), "), X is tensor(", i.dtype(0), ")");
    if (default_tensor) {
      const AnyView d = default_tensor.value.tensor().view();
      if (d.dtype() != v.dtype())
        return i.fail_type("default_tensor is tensor(", d.dtype(), "), the values are tensor(", v.dtype(),
                           ")");
      if (d.rank() > 1 || d.size() != 1)
        return i.fail("default_tensor: ", Dims(d.extents()), ", expected one element");
      i.for_files([&] {
        if (d.rank() == 0) i.fail("default_tensor: rank 0, expected 1");
      });
    }
    i.out(0, v.dtype(), i.dims(0));
  }
  template <class T>
  void compute(TensorView<const T> x, AnyOut y) const {
    compute_with(prepare<T>(), x, y);
  }
  template <class T>
  kernels::Lookup<T> prepare() const {
    const AnyView k = keys();
    return kernels::Lookup<T>({static_cast<const T*>(k.data()), static_cast<std::size_t>(k.size())});
  }
  template <class T>
  void compute_with(const kernels::Lookup<T>& place, TensorView<const T> x, AnyOut y) const {
    const int32_t narrow = -1;
    const int16_t short_ = -1;
    const double wide = -0.0;
    const void* otherwise = &default_string;
    if (default_tensor) otherwise = default_tensor.value.tensor().data();
    else if (y.dtype() == DType::int64) otherwise = &default_int64;
    else if (y.dtype() == DType::float32) otherwise = &default_float;
    else if (y.dtype() == DType::int32) otherwise = &narrow;
    else if (y.dtype() == DType::int16) otherwise = &short_;
    else if (y.dtype() == DType::float64) otherwise = &wide;
    map_labels(place, x, values(), otherwise, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  static int stated(const auto& floats, const auto& ints, const auto& strings,
                    const TensorAttribute& tensor) {
    return !floats.empty() + !ints.empty() + !strings.empty() + !!tensor;
  }
  static AnyView list(const auto& floats, const auto& ints, const auto& strings,
                      const TensorAttribute& tensor) {
    if (tensor) return tensor.value.tensor().view();
    return !floats.empty() ? list_view(floats) : !ints.empty() ? list_view(ints) : list_view(strings);
  }
  AnyView keys() const { return list(keys_floats, keys_int64s, keys_strings, keys_tensor); }
  AnyView values() const { return list(values_floats, values_int64s, values_strings, values_tensor); }
};

/// A string becomes its place in `classes_strings`, an integer the string at that place.
struct LabelEncoder_1 {
  std::vector<std::string> classes_strings{};
  int64_t default_int64 = -1;
  std::string default_string = "_Unused";

  static constexpr Spec spec{
      .name = "LabelEncoder",
      .domain = "ai.onnx.ml",
      .since = {1},
      .inputs = {{"X", "T1"}},
      .outputs = {{"Y", "T2"}},
      .types = {{"T1", types::string | types::int64}, {"T2", types::string | types::int64}}};
  static constexpr Attributes attributes{attr("classes_strings", &LabelEncoder_1::classes_strings),
                                         attr("default_int64", &LabelEncoder_1::default_int64),
                                         attr("default_string", &LabelEncoder_1::default_string)};

  void infer(Infer& i) const { NumberedNames::infer(i); }
  template <class T>
  void compute(TensorView<const T> x, AnyOut y) const {
    const std::vector<int64_t> numbers = places();
    const NumberedNames names{classes_strings, numbers, default_string, default_int64};
    names.map(names.lookup<T>(), x, y);
  }
  template <class L>
  int32_t renew(L& to) const {
    const DType x = to.in(0).type.element;
    if (classes_strings.empty() || (x != DType::string && x != DType::int64)) return -1;
    LabelEncoder newest{.default_int64 = default_int64, .default_string = default_string};
    if (x == DType::string) {
      newest.keys_strings = classes_strings;
      newest.values_int64s = places();
    } else {
      newest.keys_int64s = places();
      newest.values_strings = classes_strings;
    }
    return to.add(newest, {to.input(0)});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  std::vector<int64_t> places() const {
    std::vector<int64_t> p(classes_strings.size());
    std::iota(p.begin(), p.end(), int64_t{0});
    return p;
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::LabelEncoder, tenon::op::LabelEncoder_1)

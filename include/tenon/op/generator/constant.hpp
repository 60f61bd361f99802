// Constant: the tensor in an attribute.   onnx.ai/onnx/operators/onnx__Constant.html
#pragma once

#include <cstring>

#include "tenon/kernels/move/scatter.hpp"
#include "tenon/op/families/movement.hpp"
#include "tenon/op/families/sparse.hpp"
#include "tenon/op/framework/attribute.hpp"

namespace tenon::TENON_ABI::op {

namespace constant_detail {

/// The dense form of a sparse tensor. Error{invalid_shape, out_of_range} if it is not well-formed.
inline AnyTensor dense(std::string_view name, const SparseTensor& s, Allocator& allocator) {
  check_sparse(name, s);
  AnyTensor t = AnyTensor::uninitialized(s.values.dtype(), s.extents, allocator);
  if (t.dtype() != DType::string && t.size() > 0)
    std::memset(t.out().data(), 0, static_cast<std::size_t>(t.bytes()));
  const bool coordinates = s.indices.rank() == 2;
  const int64_t offsets[] = {t.size()}, one[] = {1};
  const Extents strides = dense_strides(s.extents);
  kernels::scatter_nd(t.dtype(), t.out().data(), s.values.data(),
                      {.indices = static_cast<const int64_t*>(s.indices.data()),
                       .count = s.values.size(),
                       .depth = coordinates ? s.extents.size() : 1,
                       .extents = coordinates ? s.extents.data() : offsets,
                       .strides = coordinates ? strides.data() : one,
                       .inner = 1});
  return t;
}

}  // namespace constant_detail

/// Exactly one attribute is stated: a tensor, a sparse tensor, which becomes a dense one, or numbers or
/// strings, alone (a scalar) or as a list (one axis). op::Constant{.value_int = 3}() gives 3.
struct Constant {
  SparseTensorAttribute sparse_value{};
  TensorAttribute value{};
  Opt<float> value_float{};
  Opt<std::vector<float>> value_floats{};
  Opt<int64_t> value_int{};
  Opt<std::vector<int64_t>> value_ints{};
  Opt<std::string> value_string{};
  Opt<std::vector<std::string>> value_strings{};

  static constexpr Spec spec{
      .name = "Constant",
      .since = {1, 9, 11, 12, 13, 19, 21, 23, 24, 25},
      .inputs = {},
      .outputs = {{"output", "T"}},
      .types = {every_type("T", {{1, types::floats}, {9, types::all}})},
      // Version 1 is for floats alone, but ONNX's own models of that time have integers.
      .old_outputs = {{10, 0, {.name = "output", .type = "T", .types_of = 9}}}};
  static constexpr Attributes attributes{attr("sparse_value", &Constant::sparse_value).since(11),
                                         attr("value", &Constant::value).required().until(10),
                                         attr("value", &Constant::value).since(11),
                                         attr("value_float", &Constant::value_float).since(12),
                                         attr("value_floats", &Constant::value_floats).since(12),
                                         attr("value_int", &Constant::value_int).since(12),
                                         attr("value_ints", &Constant::value_ints).since(12),
                                         attr("value_string", &Constant::value_string).since(12),
                                         attr("value_strings", &Constant::value_strings).since(12)};

  void infer(Infer& i) const {
    const int stated = !!sparse_value + !!value + !!value_float + !!value_floats + !!value_int +
                       !!value_ints + !!value_string + !!value_strings;
    if (stated != 1) return i.fail("states ", stated, " values, not 1");
    if (sparse_value) {
      const SparseTensor& s = sparse_value.value.sparse_tensor();
      return i.out(0, s.values.dtype(), Dims(s.extents));
    }
    const AnyView v = view();
    i.out(0, v.dtype(), Dims(v.extents()));
    PropagatedData& values = i.out(0).propagated;
    if (!is_propagated(v.dtype()) || !values.begin(v.size())) return;
    for (int64_t k = 0; k < v.size(); ++k)
      values.push_back(v.dtype() == DType::bool_ ? static_cast<const bool*>(v.data())[k] : int_at(v, k));
  }
  Value compute(Context& c) const {
    if (value) return value.value;
    if (sparse_value)
      return constant_detail::dense(spec.name, sparse_value.value.sparse_tensor(), c.allocator());
    return AnyTensor::copy_of(view(), c.allocator());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  AnyView view() const {
    auto one = []<class T>(const T& v) { return TensorView<const T>(&v, {}); };
    auto list = []<class T>(const std::vector<T>& v) {
      return TensorView<const T>(v.data(), {static_cast<int64_t>(v.size())});
    };
    if (value) return value.value.tensor().view();
    if (value_float) return one(*value_float);
    if (value_floats) return list(*value_floats);
    if (value_int) return one(*value_int);
    if (value_ints) return list(*value_ints);
    if (value_string) return one(*value_string);
    return list(*value_strings);
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Constant)

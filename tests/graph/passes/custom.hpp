// Operators of a domain of their own, one with the name of ONNX's. Passes know of them what their
// specifications say.
#pragma once

#include "tenon/op/families/movement.hpp"
#include "tenon/op/families/unary.hpp"

namespace tenon::passes::test::custom {

/// y = x / 2.
struct Abs {
  static constexpr op::Spec spec{.name = "Abs",
                                 .domain = "org.example",
                                 .since = {1},
                                 .inputs = {{"x", "T"}},
                                 .outputs = {{"y", "T"}},
                                 .types = {{"T", types::floats_bf16}},
                                 .elements = op::Elements::function};
  constexpr void infer(op::Infer& i) const { op::infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    op::unary<kernels::UnaryOp::linear>(x, y, {.alpha = 0.5});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// z = |x - y|, with numpy's broadcasting.
struct Distance {
  static constexpr op::Spec spec{.name = "Distance",
                                 .domain = "org.example",
                                 .since = {1},
                                 .inputs = {{"x", "T"}, {"y", "T"}},
                                 .outputs = {{"z", "T"}},
                                 .types = {{"T", types::floats_bf16}},
                                 .elements = op::Elements::arithmetic};
  constexpr void infer(op::Infer& i) const { op::infer_broadcast(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> y, TensorView<T> z) const {
    op::binary<kernels::BinaryOp::sub>(spec.name, x, y, z);
    op::unary<kernels::UnaryOp::absolute>(TensorView<const T>(z), z);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// The elements of x from the last to the first: all of them, or every other one.
template <bool all, TypeSet set>
struct Backwards {
  static constexpr op::Spec spec{.name = all ? "Reverse" : "Thin",
                                 .domain = "org.example",
                                 .since = {1},
                                 .inputs = {{"x", "T"}},
                                 .outputs = {{"y", "T"}},
                                 .types = {{"T", set}},
                                 .elements = all ? op::Elements::order : op::Elements::choice};
  constexpr void infer(op::Infer& i) const {
    if (i.expect_rank(0, 1)) i.out(0, Dims{all ? i.dims(0)[0] : i.dims(0)[0] / 2});
  }
  void compute(AnyView x, AnyOut y) const {
    const int64_t size = bits_of(x.dtype()) / 8;
    for (int64_t k = 0; k < y.size(); ++k)
      std::copy_n(static_cast<const std::byte*>(x.data()) + (x.size() - 1 - k * (all ? 1 : 2)) * size, size,
                  static_cast<std::byte*>(y.data()) + k * size);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::passes::test::custom

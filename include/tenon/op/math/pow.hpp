// Pow: Z = X to the power of Y.   onnx.ai/onnx/operators/onnx__Pow.html
#pragma once

#include <atomic>
#include <cstring>

#include "tenon/base/convert.hpp"
#include "tenon/op/families/before_broadcasting.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"

namespace tenon::TENON_ABI::op {

/// Z = X ^ Y in X's type, with numpy's broadcasting. Integers to powers of integers wrap, negative powers
/// give the quotient truncated towards zero; Error{invalid_argument} for a negative power of the integer
/// zero. Integers to powers of floats are truncated towards zero, and clamped to the type's range.
/// op::Pow{}(3.0f, 2) gives 9.
struct Pow {
  static constexpr Spec spec{.name = "Pow",
                             .since = {7, 12, 13, 15},
                             .inputs = {{"X", "T"}, {"Y", "T1"}},
                             .outputs = {{"Z", "T"}},
                             .types = {{"T",
                                        {{1, types::floats},
                                         {12, types::floats | types::indices},
                                         {13, types::floats_bf16 | types::indices}}},
                                       {"T1", {{12, types::numeric}, {15, types::numeric_bf16}}}},
                             .elements = Elements::arithmetic,
                             .old_inputs = {{11, 1, {"Y", "T"}}}};

  constexpr void infer(Infer& i) const { infer_broadcast(i); }
  template <class T>
  void compute(TensorView<const T> x, AnyView y, TensorView<T> z) const {
    if (y.dtype() == dtype_of<T>) return binary<kernels::BinaryOp::pow>(spec.name, x, y.as<T>(), z);
    // Usually T holds the exponents of the other type too, such as 2.
    if (!std::is_integral_v<T> || is_integer(y.dtype())) {
      Scratch scratch;
      // In memory for exponents of any type, so that their values do not decide how much memory is taken.
      T* same = static_cast<T*>(static_cast<void*>(scratch.take<double>(y.size())));
      auto* back = scratch.take<std::byte>(y.bytes());
      convert_n(dtype_of<T>, same, y.dtype(), y.data(), y.size());
      convert_n(y.dtype(), back, dtype_of<T>, same, y.size());
      if (y.empty() || std::memcmp(back, y.data(), static_cast<std::size_t>(y.bytes())) == 0)
        return binary<kernels::BinaryOp::pow>(spec.name, x, TensorView<const T>(same, y.extents()), z);
    }
    if (!std::is_integral_v<T> || !is_integer(y.dtype())) powers<double>(x, y, z);
    else if (y.dtype() == DType::uint64) powers<uint64_t>(x, y, z);
    else powers<int64_t>(x, y, z);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// With exponents as E, which holds all of Y's type.
  template <class E, class T>
  static void powers(TensorView<const T> x, AnyView y, TensorView<T> z) {
    Scratch scratch;
    E* exponents = scratch.take<E>(y.size());
    convert_n(dtype_of<E>, exponents, y.dtype(), y.data(), y.size());
    std::atomic<bool> defined{true};
    kernels::binary_each(
        x.data(), exponents, z.data(), kernels::broadcast_plan(x.extents(), y.extents()),
        [&](T base, E exponent) {
          if constexpr (std::is_integral_v<T> && std::is_signed_v<E> && std::is_integral_v<E>)
            if (base == 0 && exponent < 0) defined.store(false, std::memory_order_relaxed);
          return kernels::power(base, exponent);
        });
    if (!defined.load(std::memory_order_relaxed))
      raise(ErrorCode::invalid_argument, spec.name, "an integer is divided by zero");
  }
};

using Pow_1 = BeforeBroadcasting<Pow, Unsqueeze, 1>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Pow, tenon::op::Pow_1)

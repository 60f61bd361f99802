// Dropout: elements set to 0 at random, in training.   onnx.ai/onnx/operators/onnx__Dropout.html
#pragma once

#include "tenon/base/convert.hpp"
#include "tenon/kernels/mersenne_twister.hpp"
#include "tenon/kernels/random.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

namespace dropout_detail {

/// Calls f.operator()<T>() for T of d, one of Dropout's float types.
template <class F>
void with_dropout_type(DType d, F&& f) {
  visit_types<float, double, float16, bfloat16, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz>(d,
                                                                                                          f);
}

/// y = x, and a mask of ones, of bool or of x's type, if requested.
inline void keep_all(AnyView x, AnyOut y, AnyOut mask) {
  copy_elements(x, y);
  if (!mask) return;
  const bool yes = true;
  if (mask.dtype() == DType::bool_) return kernels::fill(DType::bool_, mask.data(), &yes, mask.size());
  with_dropout_type(mask.dtype(), [&]<class T>() {
    const T one = convert<T>(1.0f);
    kernels::fill(dtype_of<T>, mask.data(), &one, mask.size());
  });
}

/// Element k is dropped if the k-th number drawn is below `ratio`, else divided by 1 - ratio. Numbers are
/// drawn one by one, so this is a serial loop. Error{invalid_argument} unless ratio is in [0, 1).
inline void drop(std::string_view name, AnyView x, double ratio, uint64_t seed, AnyOut y, AnyOut mask) {
  if (!(ratio >= 0 && ratio < 1))
    raise(ErrorCode::invalid_argument, name, "ratio ", convert<std::string>(ratio), " outside of [0, 1)");
  if (ratio == 0) return keep_all(x, y, mask);
  kernels::MersenneTwister random(static_cast<uint32_t>(seed));
  with_dropout_type(x.dtype(), [&]<class T>() {
    using R = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const R scale = static_cast<R>(1 / (1 - ratio));
    const T *from = static_cast<const T*>(x.data()), one = convert<T>(1.0f), zero = convert<T>(0.0f);
    T* to = static_cast<T*>(y.data());
    bool* kept = mask && mask.dtype() == DType::bool_ ? static_cast<bool*>(mask.data()) : nullptr;
    T* kept_as_number = mask && !kept ? static_cast<T*>(mask.data()) : nullptr;
    for (int64_t k = 0; k < x.size(); ++k) {
      const bool keep = random.uniform() >= ratio;
      to[k] = keep ? convert<T>(static_cast<R>(static_cast<R>(from[k]) * scale)) : zero;
      if (kept) kept[k] = keep;
      if (kept_as_number) kept_as_number[k] = keep ? one : zero;
    }
  });
}

}  // namespace dropout_detail

/// Without training_mode: data, and a mask of true. With it each element is dropped with probability `ratio`
/// (default 0.5), and the others are divided by 1 - ratio; the mask is true for the others. With a seed every
/// run drops the same elements, the same as ONNX's reference implementation. op::Dropout{}(x) gives x.
struct Dropout {
  Opt<int64_t> seed{};

 private:
  static constexpr TypeSet types_22 = types::floats_bf16 | types::float8s;

 public:
  static constexpr Spec spec{
      .name = "Dropout",
      .since = {12, 13, 22},
      .inputs = {{"data", "T"}, {"ratio", "T1", optional}, {"training_mode", "T2", optional}},
      .outputs = {{"output", "T"}, {"mask", "T2", optional}},
      .types = {{"T", {{12, types::floats}, {13, types::floats_bf16}, {22, types_22}}},
                {"T1", {{12, types::floats}, {22, types_22}}},
                {"T2", types::boolean}},
      .memory = Memory::elementwise,
      .deterministic = false};
  static constexpr Attributes attributes{attr("seed", &Dropout::seed)};

  constexpr void infer(Infer& i) const {
    i.expect_one(1);
    i.expect_one(2);
    i.for_files([&] { i.expect_rank(1, 0) && i.expect_rank(2, 0); });
    i.out(0, i.dims(0));
    i.out(1, i.dims(0));
  }
  void compute(AnyView data, AnyView ratio, TensorView<const bool> training_mode, AnyOut output,
               TensorView<bool> mask) const {
    if (!training_mode || !training_mode[0]) return dropout_detail::keep_all(data, output, mask);
    double share = 0.5;
    if (ratio)
      dropout_detail::with_dropout_type(ratio.dtype(),
                                        [&]<class T>() { share = convert<double>(ratio.as<T>()[0]); });
    const auto start = seed ? static_cast<uint64_t>(*seed) : kernels::fresh_seed();
    dropout_detail::drop(spec.name, data, share, start, output, mask);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// Before version 7 it trains unless `is_test` says otherwise; since then it gives data. The mask, which ONNX
/// leaves open outside of training, is all ones, of the data's type before version 10.
struct Dropout_1 {
  int64_t is_test = 0;
  float ratio = 0.5f;

  static constexpr Spec spec{.name = "Dropout",
                             .since = {1, 6, 7, 10},
                             .inputs = {{"data", "T"}},
                             .outputs = {{"output", "T"}, {"mask", "T1", optional}},
                             .types = {{"T", types::floats}, {"T1", {{10, types::boolean}}}},
                             .memory = Memory::elementwise,
                             .deterministic = false,
                             .old_outputs = {{9, 1, {"mask", "T", optional}}}};
  static constexpr Attributes attributes{consumed_inputs, attr("is_test", &Dropout_1::is_test).until(6),
                                         initially(&Dropout_1::is_test, 1).since(7),
                                         attr("ratio", &Dropout_1::ratio)};

  constexpr void infer(Infer& i) const {
    i.out(0, i.dims(0));
    i.out(1, i.dims(0));
  }
  void compute(AnyView data, AnyOut output, AnyOut mask) const {
    if (is_test != 0) return dropout_detail::keep_all(data, output, mask);
    dropout_detail::drop(spec.name, data, ratio, kernels::fresh_seed(), output, mask);
  }
  template <class L>
  int32_t renew(L& to) const {
    return is_test == 0 ? -1 : to.add(Dropout{}, {to.input(0)});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Dropout, tenon::op::Dropout_1)

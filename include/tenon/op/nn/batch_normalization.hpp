// BatchNormalization: mean 0 and variance 1 in each channel.
// onnx.ai/onnx/operators/onnx__BatchNormalization.html
#pragma once

#include "tenon/base/scratch.hpp"
#include "tenon/kernels/reduce/moments.hpp"
#include "tenon/kernels/reduce/normalize.hpp"
#include "tenon/op/families/channel_loops.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

namespace batch_normalization_detail {

/// f(k) for each element k of a result that may be absent.
template <class F>
void fill(AnyOut out, F f) {
  if (!out) return;
  visit_types(float_types{}, out.dtype(), [&]<class T>() {
    T* to = out.as<T>().data();
    for (int64_t k = 0; k < out.size(); ++k)
      if constexpr (std::is_same_v<T, double>) to[k] = f(k);
      else to[k] = static_cast<T>(static_cast<float>(f(k)));
  });
}

/// Results of training, (channels) each; any may be absent.
struct BatchStatistics {
  AnyOut running_mean, running_var, saved_mean, saved_var;
};

/// The computation of all versions. Without `spatial` every element of a sample is a channel of its own.
template <class T>
void batch_normalization(TensorView<const T> x, AnyView scale, AnyView bias, AnyView mean, AnyView variance,
                         TensorView<T> y, float epsilon, bool spatial, bool training, float momentum,
                         const BatchStatistics& statistics) {
  using C = compute_t<T>;
  const int64_t channels = scale.size();
  const int64_t batch = x.extent(0), inner = x.empty() || !spatial ? 1 : x.size() / batch / channels;
  Scratch scratch;
  const C *m = numbers<C>(scratch, mean), *v = numbers<C>(scratch, variance);
  if (training) {
    double *means = scratch.take<double>(channels), *variances = scratch.take<double>(channels);
    kernels::moments(x.data(), means, variances, x.empty() ? 0 : batch, channels, inner);
    C *own_mean = scratch.take<C>(channels), *own_variance = scratch.take<C>(channels);
    for (int64_t c = 0; c < channels; ++c) {
      own_mean[c] = static_cast<C>(means[c]);
      own_variance[c] = static_cast<C>(variances[c]);
    }
    const double kept = momentum;
    fill(statistics.running_mean, [&](int64_t c) { return m[c] * kept + means[c] * (1 - kept); });
    fill(statistics.running_var, [&](int64_t c) { return v[c] * kept + variances[c] * (1 - kept); });
    fill(statistics.saved_mean, [&](int64_t c) { return means[c]; });
    fill(statistics.saved_var, [&](int64_t c) { return variances[c]; });
    m = own_mean;
    v = own_variance;
  }
  if (x.empty()) return;
  kernels::batch_norm<T>({.x = x.data(),
                          .y = y.data(),
                          .batch = batch,
                          .channels = channels,
                          .spatial = inner,
                          .scale = numbers<C>(scratch, scale),
                          .bias = numbers<C>(scratch, bias),
                          .mean = m,
                          .variance = v,
                          .epsilon = epsilon});
}

/// The rule of all versions; statistics are results of training alone.
constexpr void infer_batch_normalization(Infer& i, bool spatial, bool training) {
  const Dims& x = i.dims(0);
  Dims channels;
  if (x.ranked() && x.rank() == 0) return i.fail("X is a scalar");
  if (!training && i.outputs() > 1) return i.fail(i.outputs(), " outputs, but only training has more than 1");
  if (spatial) {
    channels = Dims{x.rank() > 1 ? x[1] : x.ranked() ? Dim(1) : Dim()};
  } else if (x.ranked()) {
    channels = x;
    channels.erase(0);
  }
  for (int p = 1; p < 5; ++p) {
    if (channels.ranked() && !i.expect_rank(p, channels.rank())) return;
    channels = i.unify(channels, i.dims(p), "extents of channels");
  }
  i.out(0, x);
  for (int o = 1; o < 5; ++o) i.out(o, channels);
}

}  // namespace batch_normalization_detail

/// Y = (X - mean) / sqrt(var + epsilon) * scale + B, where X is (N, C, ...), or (N) with one channel, and the
/// others are (C). With training_mode mean and variance are X's own, and move the running ones by 1 -
/// momentum. op::BatchNormalization{}(x, scale, b, mean, var) of (2,3,8,8) and four of (3) gives (2,3,8,8).
struct BatchNormalization {
  float epsilon = 1e-5f;
  float momentum = 0.9f;
  int64_t training_mode = 0;

  static constexpr Spec spec{
      .name = "BatchNormalization",
      .since = {14, 15},
      .inputs = {{"X", "T"}, {"scale", "T1"}, {"B", "T1"}, {"input_mean", "T2"}, {"input_var", "T2"}},
      .outputs = {{"Y", "T"}, {"running_mean", "T2", optional}, {"running_var", "T2", optional}},
      .types = {{"T", types::floats_bf16},
                {"T1", types::floats_bf16},
                {"T2", types::floats_bf16},
                {"U", types::floats_bf16}},
      .memory = Memory::elementwise,
      .old_inputs = {{14, 1, {"scale", "T"}},
                     {14, 2, {"B", "T"}},
                     {14, 3, {"input_mean", "U"}},
                     {14, 4, {"input_var", "U"}}},
      .old_outputs = {{14, 1, {"running_mean", "U", optional}}, {14, 2, {"running_var", "U", optional}}}};
  static constexpr Attributes attributes{attr("epsilon", &BatchNormalization::epsilon),
                                         attr("momentum", &BatchNormalization::momentum),
                                         attr("training_mode", &BatchNormalization::training_mode).flag()};

  constexpr void infer(Infer& i) const {
    if (training_mode != 0)
      i.for_files([&] {
        if (i.outputs() != 3) i.fail(i.outputs(), " outputs, training has 3");
      });
    batch_normalization_detail::infer_batch_normalization(i, true, training_mode != 0);
  }
  template <class T>
  void compute(TensorView<const T> x, AnyView scale, AnyView b, AnyView mean, AnyView var, TensorView<T> y,
               AnyOut running_mean, AnyOut running_var) const {
    batch_normalization_detail::batch_normalization(x, scale, b, mean, var, y, epsilon, true,
                                                    training_mode != 0, momentum,
                                                    {running_mean, running_var, {}, {}});
  }
  template <class L>
  void loops(L& l) const {
    if (training_mode == 0) add_channel_loops(l, 1, {{1, 0}, {2, 0}, {3, 0}, {4, 0}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// Training is the default, unless is_test says otherwise; since version 7 a node trains if it has outputs
/// other than Y. Without `spatial` every element of a sample is a channel of its own.
struct BatchNormalization_1 {
  float epsilon = 1e-5f;
  int64_t is_test = 0;
  float momentum = 0.9f;
  int64_t spatial = 1;

  static constexpr Spec spec{.name = "BatchNormalization",
                             .since = {1, 6, 7, 9},
                             .inputs = {{"X", "T"}, {"scale", "T"}, {"B", "T"}, {"mean", "T"}, {"var", "T"}},
                             .outputs = {{"Y", "T"},
                                         {"mean", "T", optional},
                                         {"var", "T", optional},
                                         {"saved_mean", "T", optional},
                                         {"saved_var", "T", optional}},
                             .types = {{"T", types::floats}},
                             .memory = Memory::elementwise,
                             .results_decide = true};
  static constexpr Attributes attributes{consumed_inputs.required(),
                                         attr("epsilon", &BatchNormalization_1::epsilon),
                                         attr("is_test", &BatchNormalization_1::is_test).until(6),
                                         initially(&BatchNormalization_1::is_test, 1).since(7),
                                         attr("momentum", &BatchNormalization_1::momentum),
                                         attr("spatial", &BatchNormalization_1::spatial).flag().until(8)};

  constexpr void infer(Infer& i) const {
    batch_normalization_detail::infer_batch_normalization(
        i, spatial != 0, is_test == 0 || (i.version() >= 7 && i.outputs() > 1));
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> scale, TensorView<const T> b,
               TensorView<const T> mean, TensorView<const T> var, TensorView<T> y, TensorView<T> running_mean,
               TensorView<T> running_var, TensorView<T> saved_mean, TensorView<T> saved_var) const {
    const bool training = is_test == 0 || running_mean || running_var || saved_mean || saved_var;
    batch_normalization_detail::batch_normalization<T>(x, scale, b, mean, var, y, epsilon, spatial != 0,
                                                       training, momentum,
                                                       {running_mean, running_var, saved_mean, saved_var});
  }
  template <class L>
  int32_t renew(L& to) const {
    if (spatial == 0 || is_test == 0) return -1;
    return to.add(BatchNormalization{.epsilon = epsilon, .momentum = momentum},
                  {to.input(0), to.input(1), to.input(2), to.input(3), to.input(4)});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::BatchNormalization, tenon::op::BatchNormalization_1)

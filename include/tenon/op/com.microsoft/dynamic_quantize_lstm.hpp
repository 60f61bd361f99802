// DynamicQuantizeLSTM: LSTM with weights of bytes, whose inputs and states are quantised in the run.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.DynamicQuantizeLSTM
#pragma once

#include <limits>

#include "tenon/kernels/gemm/quant_gemm.hpp"
#include "tenon/kernels/quantize.hpp"
#include "tenon/op/families/quantized_body.hpp"
#include "tenon/op/families/recurrent.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// LSTM of ONNX with layout 0, for W (directions, input, 4 hidden) and R (directions, hidden, 4 hidden) of
/// bytes, whose scales and zero points are one number for each direction, or for each column as well. X is
/// quantised as a whole, and the state (batch, hidden) anew at each step, both as by DynamicQuantizeLinear.
/// As in ONNX Runtime, clip does not apply to the cell as h's input, and sequences without steps end in 0.
/// call<2>(op::com_microsoft::DynamicQuantizeLSTM{.hidden_size = 4}, x, w, r, none, none, none, none, none,
/// ws, wz, rs, rz) of (7,2,3), (1,3,16) and (1,4,16) gives Y (7,1,2,4) and Y_h (1,2,4).
struct DynamicQuantizeLSTM {
  std::vector<float> activation_alpha{};
  std::vector<float> activation_beta{};
  std::vector<std::string> activations{};
  Opt<float> clip{};
  Str direction = "forward";
  Opt<int64_t> hidden_size{};
  int64_t input_forget = 0;

  static constexpr Spec spec{
      .name = "DynamicQuantizeLSTM",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"X", "T"},
                 {"W", "T2"},
                 {"R", "T2"},
                 {"B", "T", optional},
                 {"sequence_lens", "T1", optional},
                 {"initial_h", "T", optional},
                 {"initial_c", "T", optional},
                 {"P", "T", optional},
                 {"W_scale", "T"},
                 {"W_zero_point", "T2"},
                 {"R_scale", "T"},
                 {"R_zero_point", "T2"}},
      .outputs = {{"Y", "T", optional}, {"Y_h", "T", optional}, {"Y_c", "T", optional}},
      .types = {{"T", types::float32}, {"T1", types::int32}, {"T2", signed_or_not_bytes}}};
  static constexpr Attributes attributes{attr("activation_alpha", &DynamicQuantizeLSTM::activation_alpha),
                                         attr("activation_beta", &DynamicQuantizeLSTM::activation_beta),
                                         attr("activations", &DynamicQuantizeLSTM::activations),
                                         attr("clip", &DynamicQuantizeLSTM::clip),
                                         attr("direction", &DynamicQuantizeLSTM::direction),
                                         attr("hidden_size", &DynamicQuantizeLSTM::hidden_size),
                                         attr("input_forget", &DynamicQuantizeLSTM::input_forget).flag()};

  void infer(Infer& i) const {
    const RecurrentForm form{.gates = 4,
                             .activations = 3,
                             .direction = direction,
                             .hidden_size = hidden_size,
                             .names = activations,
                             .clip = clip,
                             .layout = 0};
    if (!check_recurrent(i, form)) return;
    const int64_t directions = direction_count(direction);
    for (int k : {0, 1, 2})
      if (!i.expect_rank(k, 3)) return;
    const Dims &x = i.dims(0), &r = i.dims(2);
    Dim hidden = r.ranked() ? r[1] : Dim();
    if (hidden_size) hidden = i.unify(*hidden_size, hidden, "hidden_size and extents of R");
    if (!i.expect_at_least("hidden_size", hidden, 0)) return;
    const Dim gates = hidden * 4;
    if (hidden.known() && !(hidden * 8).known()) return i.fail("hidden_size ", hidden, " is too large");
    const Dim steps = x.ranked() ? x[0] : Dim(), batch = x.ranked() ? x[1] : Dim();
    const Dims state{directions, batch, hidden};
    if (!i.expect_extents(1, {directions, x.ranked() ? x[2] : Dim(), gates}) ||
        !i.expect_extents(2, {directions, hidden, gates}) ||
        (i.has(3) && !i.expect_extents(3, {directions, hidden * 8})) ||
        (i.has(4) && !i.expect_extents(4, {batch})) || (i.has(5) && !i.expect_extents(5, state)) ||
        (i.has(6) && !i.expect_extents(6, state)) ||
        (i.has(7) && !i.expect_extents(7, {directions, hidden * 3})))
      return;
    for (int k : {8, 9, 10, 11}) {
      const Dims& d = i.dims(k);
      if (d.ranked() && !d.fits(Dims{directions}) && !d.fits(Dims{directions, gates}))
        return i.fail(i.name(k), ": ", d, ", expected ", Dims{directions}, " or ", Dims{directions, gates});
    }
    i.out(0, {steps, directions, batch, hidden});
    i.out(1, state);
    i.out(2, state);
  }
  /// Error{out_of_range} for a length below 0 or above the number of steps.
  void compute(TensorView<const float> x, AnyView w, AnyView r, TensorView<const float> b,
               TensorView<const int32_t> sequence_lens, TensorView<const float> initial_h,
               TensorView<const float> initial_c, TensorView<const float> p, TensorView<const float> w_scale,
               AnyView w_zero, TensorView<const float> r_scale, AnyView r_zero, TensorView<float> y,
               TensorView<float> y_h, TensorView<float> y_c) const {
    const int directions = direction_count(direction);
    const Sizes n{x.extent(0), x.extent(1), x.extent(2), r.extent(1), directions};
    if (sequence_lens) check_sequence_lens(spec.name, sequence_lens, n.steps);
    if (n.batch == 0 || n.hidden == 0) return;
    const auto functions =
        rnn_functions<3>(activations, activation_alpha, activation_beta, {"sigmoid", "tanh", "tanh"});
    const int64_t gates = checked_mul(int64_t{4}, n.hidden, spec.name),
                  states = checked_mul(n.batch, n.hidden, spec.name),
                  rows = checked_mul(n.steps, n.batch, spec.name);
    checked_mul(rows, std::max(gates, n.input), spec.name);
    Scratch scratch;
    const Bytes bytes = quantized(scratch, x.data(), rows * n.input);
    float *from_x = scratch.take<float>(rows * gates), *sums = scratch.take<float>(n.batch * gates),
          *h = scratch.take<float>(states), *c = scratch.take<float>(states);
    for (int d = 0; d < directions; ++d) {
      const Weights wd = weights(w, w_scale, w_zero, d, directions),
                    rd = weights(r, r_scale, r_zero, d, directions);
      product(scratch, bytes, wd, rows, n.input, gates, from_x);
      start(initial_h, d, states, h);
      start(initial_c, d, states, c);
      const float *bias = b ? b.data() + d * 2 * gates : nullptr,
                  *peephole = p ? p.data() + d * 3 * n.hidden : nullptr;
      const auto* f = &functions[static_cast<std::size_t>(3 * d)];
      const bool reverse = d == 1 || direction == "reverse";
      if (y) {
        for (int64_t t = 0; t < n.steps; ++t)
          std::fill_n(y.data() + (t * directions + d) * states, states, 0.0f);
      }
      for (int64_t step = 0; step < n.steps; ++step) {
        Scratch of_step;
        product(of_step, quantized(of_step, h, states), rd, n.batch, n.hidden, gates, sums);
        for (int64_t row = 0; row < n.batch; ++row) {
          const int64_t length = sequence_lens ? sequence_lens[row] : n.steps;
          if (step >= length) continue;
          const int64_t t = reverse ? length - 1 - step : step;
          float* const own = sums + row * gates;
          const float* const add = from_x + (t * n.batch + row) * gates;
          for (int64_t k = 0; k < gates; ++k) own[k] += add[k] + (bias ? bias[k] + bias[gates + k] : 0.0f);
          unit(f, peephole, n.hidden, own, h + row * n.hidden, c + row * n.hidden);
          if (y)
            std::copy_n(h + row * n.hidden, n.hidden,
                        y.data() + ((t * directions + d) * n.batch + row) * n.hidden);
        }
      }
      for (int64_t row = 0; sequence_lens && row < n.batch; ++row) {
        if (sequence_lens[row] > 0) continue;
        std::fill_n(h + row * n.hidden, n.hidden, 0.0f);
        std::fill_n(c + row * n.hidden, n.hidden, 0.0f);
      }
      if (y_h) std::copy_n(h, states, y_h.data() + d * states);
      if (y_c) std::copy_n(c, states, y_c.data() + d * states);
    }
  }
  template <class L>
  double multiplications(const L& l) const {
    return recurrent_multiplications(l);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  struct Sizes {
    int64_t steps, batch, input, hidden;
    int directions;
  };
  /// Floats as bytes with one scale.
  struct Bytes {
    const uint8_t* data;
    kernels::DynamicScale by;
  };
  /// The weights of a direction with one scale, or one for each column.
  struct Weights {
    kernels::QuantMatrix matrix;
    const float* scale;
    bool by_column;
  };

  static Bytes quantized(Scratch& scratch, const float* x, int64_t n) {
    auto* data = scratch.take<uint8_t>(n);
    const kernels::DynamicScale by = kernels::dynamic_scale(x, n);
    kernels::quantize(
        {.grid = kernels::QuantGrid::per_tensor(n), .x = x, .scale = &by.scale, .zero = &by.zero, .y = data});
    return {data, by};
  }
  static Weights weights(AnyView v, TensorView<const float> scale, AnyView zero, int d, int directions) {
    const int64_t columns = v.extent(2), scales = scale.size() / directions, zeros = zero.size() / directions;
    return {{.data = static_cast<const uint8_t*>(v.data()) + d * v.extent(1) * columns,
             .row = columns,
             .is_signed = v.dtype() == DType::int8,
             .zero = static_cast<const uint8_t*>(zero.data()) + d * zeros,
             .zero_step = zeros > 1},
            scale.data() + d * scales,
            scales > 1};
  }
  /// y (rows, columns) = a (rows, k) w in float32.
  static void product(Scratch& scratch, const Bytes& a, const Weights& w, int64_t rows, int64_t k,
                      int64_t columns, float* y) {
    if (rows == 0) return;
    auto* sums = scratch.take<int32_t>(rows * columns);
    kernels::QuantGemmArgs args;
    args.m = rows, args.n = columns, args.k = k;
    args.a = {.data = a.data, .row = k, .is_signed = false, .zero = &a.by.zero, .zero_step = false};
    args.b = w.matrix;
    args.c = sums, args.c_row = columns;
    kernels::quant_gemm(args);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t c = 0; c < columns; ++c)
        y[row * columns + c] =
            static_cast<float>(sums[row * columns + c]) * (a.by.scale * w.scale[w.by_column ? c : 0]);
  }
  static void start(TensorView<const float> given, int d, int64_t n, float* state) {
    if (given) std::copy_n(given.data() + d * n, n, state);
    else std::fill_n(state, n, 0.0f);
  }
  /// A step of one row, whose sums for the gates i, o, f, c are in g.
  void unit(const kernels::RnnFunction* f, const float* peephole, int64_t hidden, float* g, float* h,
            float* c) const {
    const float most = clip ? *clip : std::numeric_limits<float>::infinity();
    float *in = g, *out = g + hidden, *forget = g + 2 * hidden, *fresh = g + 3 * hidden;
    const auto peep = [&](float* gate, int which) {
      for (int64_t k = 0; peephole != nullptr && k < hidden; ++k)
        gate[k] += peephole[which * hidden + k] * c[k];
      kernels::rnn_activate(f[0], most, gate, gate, hidden);
    };
    peep(in, 0);
    if (input_forget == 0) peep(forget, 2);
    else
      for (int64_t k = 0; k < hidden; ++k) forget[k] = 1 - in[k];
    kernels::rnn_activate(f[1], most, fresh, fresh, hidden);
    for (int64_t k = 0; k < hidden; ++k) c[k] = forget[k] * c[k] + in[k] * fresh[k];
    peep(out, 1);
    kernels::rnn_activate(f[2], std::numeric_limits<float>::infinity(), c, h, hidden);
    for (int64_t k = 0; k < hidden; ++k) h[k] *= out[k];
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::DynamicQuantizeLSTM)

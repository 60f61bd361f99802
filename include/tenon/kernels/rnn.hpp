// Recurrent networks: the parts that all cells share (the inputs' product for many steps at once, the order
// of steps, sequences that end early, activations), the simple network, GRU and LSTM. Types: float and
// double.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/kernels/gemm/gemm.hpp"

namespace tenon::kernels {

enum class RnnActivation : uint8_t {
  relu,
  tanh,
  sigmoid,
  affine,            // alpha x + beta
  leaky_relu,        // x < 0 ? alpha x : x
  thresholded_relu,  // x >= alpha ? x : 0
  scaled_tanh,       // alpha tanh(beta x)
  hard_sigmoid,      // min(max(alpha x + beta, 0), 1)
  elu,               // x < 0 ? alpha (exp(x) - 1) : x
  softsign,          // x / (1 + |x|)
  softplus,          // log(1 + exp(x))
};

struct RnnFunction {
  RnnActivation kind = RnnActivation::tanh;
  float alpha = 0, beta = 0;
};

/// y[i] = f(clamp(x[i], -clip, clip)), i < n. y may be x.
template <class T>
void rnn_activate(const RnnFunction& f, T clip, const T* x, T* y, int64_t n) {
  if (clip < std::numeric_limits<T>::infinity()) {
    kernels::clip(x, y, n, -clip, clip);
    x = y;
  }
  const UnaryParams p{f.alpha, f.beta};
  switch (f.kind) {
    case RnnActivation::relu: return unary<UnaryOp::relu>(x, y, n);
    case RnnActivation::tanh: return unary<UnaryOp::tanh>(x, y, n);
    case RnnActivation::sigmoid: return unary<UnaryOp::sigmoid>(x, y, n);
    case RnnActivation::affine: return unary<UnaryOp::linear>(x, y, n, p);
    case RnnActivation::leaky_relu: return unary<UnaryOp::leaky_relu>(x, y, n, p);
    case RnnActivation::thresholded_relu:
      for (int64_t i = 0; i < n; ++i) y[i] = x[i] < static_cast<T>(f.alpha) ? T{0} : x[i];
      return;
    case RnnActivation::scaled_tanh:
      unary<UnaryOp::linear>(x, y, n, {f.beta, 0});
      unary<UnaryOp::tanh>(y, y, n);
      return unary<UnaryOp::linear>(y, y, n, {f.alpha, 0});
    case RnnActivation::hard_sigmoid: return unary<UnaryOp::hard_sigmoid>(x, y, n, p);
    case RnnActivation::elu: return unary<UnaryOp::elu>(x, y, n, p);
    case RnnActivation::softsign: return unary<UnaryOp::softsign>(x, y, n);
    case RnnActivation::softplus: return unary<UnaryOp::softplus>(x, y, n);
  }
}

/// The vector of batch entry b at step t (or of all of them) lies at data + t * step + b * row.
template <class T>
struct RnnRows {
  T* data = nullptr;  ///< nullptr: absent
  int64_t step = 0, row = 0;

  explicit operator bool() const { return data != nullptr; }
  T* at(int64_t t, int64_t b) const { return data + t * step + b * row; }
};

/// One direction of a recurrent network.
template <class T>
struct RnnArgs {
  int64_t steps = 0, batch = 0, input = 0, hidden = 0;
  RnnRows<const T> x;             ///< vectors of `input`
  const int32_t* lens = nullptr;  ///< (batch) each in [0, steps], or nullptr: all are `steps`
  bool reverse = false;           ///< each sequence from its last vector to its first
  RnnRows<const T> initial_h;     ///< vectors of `hidden`; absent: zeros
  RnnRows<T> y;                   ///< h after each step, zeros past the end of a sequence; may be absent
  RnnRows<T> final_h;             ///< may be absent
  T clip = std::numeric_limits<T>::infinity();  ///< activations get their argument clamped to [-clip, clip]
};

namespace detail {

/// Calls step(t, gates) for every step in order. gates (batch, width) hold X_t W^T + bias; the callee may
/// overwrite them. w (width, input); bias (width) or nullptr.
template <class T, class F>
void rnn_for_each_step(const RnnArgs<T>& a, const T* w, int64_t width, const T* bias, F step) {
  if (a.steps == 0 || a.batch == 0 || width == 0) return;
  // Multiplies as many steps at once as fit into the caches.
  constexpr int64_t bytes = 1 << 19;
  const int64_t chunk =
      std::clamp<int64_t>(bytes / (a.batch * width * static_cast<int64_t>(sizeof(T))), 1, a.steps);
  Scratch scratch;
  T* gates = scratch.take<T>(chunk * a.batch * width);
  for (int64_t done = 0; done < a.steps; done += chunk) {
    const int64_t count = std::min(chunk, a.steps - done), first = a.reverse ? a.steps - done - count : done;
    GemmArgs<T> g;
    g.n = width, g.k = a.input;
    g.a = a.x.at(first, 0);
    g.b = w, g.b_row = 1, g.b_col = a.input;
    g.c = gates;
    g.col_bias = bias;
    if (a.batch == 1 || a.x.step == a.batch * a.x.row) {
      g.m = count * a.batch;
      g.a_row = a.batch == 1 ? a.x.step : a.x.row;
      g.c_row = width;
    } else {
      g.m = count;
      g.a_row = a.x.step;
      g.c_row = a.batch * width;
      static constexpr int64_t shared = 0;
      g.batch = {.rank = 1, .extents = &a.batch, .a = &a.x.row, .b = &shared, .c = &width};
    }
    gemm(g);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t at = a.reverse ? count - 1 - k : k;
      step(first + at, gates + at * a.batch * width);
    }
  }
}

/// Adds h R^T to gates (batch, width), step after step. r (width, hidden), packed where many rows make that
/// pay. `row` is the distance between rows of gates.
template <class T>
class RnnProduct {
 public:
  RnnProduct(Scratch& scratch, int64_t batch, int64_t width, int64_t hidden, const T* r, int64_t row) {
    args_.m = batch, args_.n = width, args_.k = hidden;
    args_.a_row = hidden;
    args_.b = r, args_.b_row = 1, args_.b_col = hidden;
    args_.c_row = args_.d_row = row;
    args_.beta = 1;
    if (batch <= 4 || width == 0 || hidden == 0) return;
    T* packed = scratch.take<T>(packed_b_size<T>(hidden, width));
    pack_b(args_, packed);
    args_.packed_b = packed;
  }
  void operator()(const T* h, T* gates) {
    args_.a = h;
    args_.c = gates;
    args_.d = gates;
    gemm(args_);
  }

 private:
  GemmArgs<T> args_;
};

/// to (batch, hidden), dense, from rows; zeros where these are absent.
template <class T>
void rnn_load_state(T* to, RnnRows<const T> from, int64_t batch, int64_t hidden) {
  for (int64_t b = 0; b < batch; ++b) {
    if (from) std::copy_n(from.at(0, b), hidden, to + b * hidden);
    else std::fill_n(to + b * hidden, hidden, T{0});
  }
}
template <class T>
void rnn_store_state(const T* from, RnnRows<T> to, int64_t batch, int64_t hidden) {
  if (to)
    for (int64_t b = 0; b < batch; ++b) std::copy_n(from + b * hidden, hidden, to.at(0, b));
}

/// Calls cell(b, row of gates) for the batch entries whose sequence has step t. Writes each entry's h to y,
/// zeros past the end of its sequence.
template <class T, class F>
void rnn_for_each_row(const RnnArgs<T>& a, int64_t t, T* gates, int64_t width, const T* h, F cell) {
  const int64_t grain = width >= costly_grain ? 1 : costly_grain / width;
  parallel_for(a.batch, grain, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const bool runs = a.lens == nullptr || t < a.lens[b];
      if (runs) cell(b, gates + b * width);
      if (!a.y) continue;
      if (runs) std::copy_n(h + b * a.hidden, a.hidden, a.y.at(t, b));
      else std::fill_n(a.y.at(t, b), a.hidden, T{0});
    }
  });
}

}  // namespace detail

template <class T>
struct SimpleRnnArgs : RnnArgs<T> {
  const T* w = nullptr;     ///< (hidden, input)
  const T* r = nullptr;     ///< (hidden, hidden)
  const T* bias = nullptr;  ///< (2 hidden): w's bias, then r's; or nullptr
  RnnFunction f{RnnActivation::tanh};
};

/// H = f(X W^T + H R^T + biases).
template <class T>
void simple_rnn(const SimpleRnnArgs<T>& a) {
  using namespace detail;
  const int64_t n = a.hidden;
  Scratch scratch;
  T *h = scratch.take<T>(a.batch * n), *bias = nullptr;
  rnn_load_state(h, a.initial_h, a.batch, n);
  if (a.bias != nullptr) {
    bias = scratch.take<T>(n);
    for (int64_t k = 0; k < n; ++k) bias[k] = a.bias[k] + a.bias[n + k];
  }
  RnnProduct<T> product(scratch, a.batch, n, n, a.r, n);
  rnn_for_each_step(a, a.w, n, static_cast<const T*>(bias), [&](int64_t t, T* gates) {
    product(h, gates);
    rnn_for_each_row(a, t, gates, n, h,
                     [&](int64_t b, T* gate) { rnn_activate(a.f, a.clip, gate, h + b * n, n); });
  });
  rnn_store_state(h, a.final_h, a.batch, n);
}

/// Gates lie in the order update, reset, hidden.
template <class T>
struct GruArgs : RnnArgs<T> {
  const T* w = nullptr;     ///< (3 hidden, input)
  const T* r = nullptr;     ///< (3 hidden, hidden)
  const T* bias = nullptr;  ///< (6 hidden): w's bias, then r's; or nullptr
  RnnFunction f{RnnActivation::sigmoid}, g{RnnActivation::tanh};
  bool linear_before_reset = false;  ///< the reset gate scales H R^T + r's bias instead of H
};

/// z, r = f(X W^T + H R^T + biases), h = g(X W^T + (r * H) R^T + biases), H = (1 - z) * h + z * H.
template <class T>
void gru(const GruArgs<T>& a) {
  using namespace detail;
  const int64_t n = a.hidden, width = 3 * n;
  Scratch scratch;
  T *h = scratch.take<T>(a.batch * n), *bias = nullptr;
  rnn_load_state(h, a.initial_h, a.batch, n);
  if (a.bias != nullptr) {
    bias = scratch.take<T>(width);
    const int64_t joint = a.linear_before_reset ? 2 * n : width;
    for (int64_t k = 0; k < width; ++k) bias[k] = k < joint ? a.bias[k] + a.bias[width + k] : a.bias[k];
  }
  const auto finish = [&](int64_t b, const T* update, T* fresh) {
    T* state = h + b * n;
    rnn_activate(a.g, a.clip, fresh, fresh, n);
    for (int64_t k = 0; k < n; ++k) state[k] = (1 - update[k]) * fresh[k] + update[k] * state[k];
  };
  if (a.linear_before_reset) {
    T* recurrent = scratch.take<T>(a.batch * width);
    RnnProduct<T> product(scratch, a.batch, width, n, a.r, width);
    rnn_for_each_step(a, a.w, width, static_cast<const T*>(bias), [&](int64_t t, T* gates) {
      std::fill_n(recurrent, a.batch * width, T{0});
      if (a.bias != nullptr)
        for (int64_t b = 0; b < a.batch; ++b)
          std::copy_n(a.bias + width + 2 * n, n, recurrent + b * width + 2 * n);
      product(h, recurrent);
      rnn_for_each_row(a, t, gates, width, h, [&](int64_t b, T* gate) {
        const T* own = recurrent + b * width;
        T *reset = gate + n, *fresh = gate + 2 * n;
        for (int64_t k = 0; k < 2 * n; ++k) gate[k] += own[k];
        rnn_activate(a.f, a.clip, gate, gate, 2 * n);
        for (int64_t k = 0; k < n; ++k) fresh[k] += reset[k] * own[2 * n + k];
        finish(b, gate, fresh);
      });
    });
  } else {
    T* kept = scratch.take<T>(a.batch * n);  // r * H
    std::fill_n(kept, a.batch * n, T{0});
    RnnArgs<T> between = a;
    between.y = {};
    RnnProduct<T> gate_product(scratch, a.batch, 2 * n, n, a.r, width),
        fresh_product(scratch, a.batch, n, n, a.r + 2 * n * n, width);
    rnn_for_each_step(a, a.w, width, static_cast<const T*>(bias), [&](int64_t t, T* gates) {
      gate_product(h, gates);
      rnn_for_each_row(between, t, gates, width, h, [&](int64_t b, T* gate) {
        rnn_activate(a.f, a.clip, gate, gate, 2 * n);
        for (int64_t k = 0; k < n; ++k) kept[b * n + k] = gate[n + k] * h[b * n + k];
      });
      fresh_product(kept, gates + 2 * n);
      rnn_for_each_row(a, t, gates, width, h, [&](int64_t b, T* gate) { finish(b, gate, gate + 2 * n); });
    });
  }
  rnn_store_state(h, a.final_h, a.batch, n);
}

/// Gates lie in the order input, output, forget, cell.
template <class T>
struct LstmArgs : RnnArgs<T> {
  const T* w = nullptr;         ///< (4 hidden, input)
  const T* r = nullptr;         ///< (4 hidden, hidden)
  const T* bias = nullptr;      ///< (8 hidden): w's bias, then r's; or nullptr
  const T* peephole = nullptr;  ///< (3 hidden): input, output, forget; or nullptr
  RnnRows<const T> initial_c;
  RnnRows<T> final_c;
  RnnFunction f{RnnActivation::sigmoid}, g{RnnActivation::tanh}, h{RnnActivation::tanh};
  bool input_forget = false;  ///< the forget gate is 1 - the input gate
};

/// i, o, f = f(X W^T + H R^T + biases + P * C) with the new C for o, c = g(…), C = f * C + i * c, H = o *
/// h(C).
template <class T>
void lstm(const LstmArgs<T>& a) {
  using namespace detail;
  const int64_t n = a.hidden, width = 4 * n;
  Scratch scratch;
  T *h = scratch.take<T>(a.batch * n), *c = scratch.take<T>(a.batch * n), *bias = nullptr;
  T* activated = scratch.take<T>(a.batch * n);
  rnn_load_state(h, a.initial_h, a.batch, n);
  rnn_load_state(c, a.initial_c, a.batch, n);
  if (a.bias != nullptr) {
    bias = scratch.take<T>(width);
    for (int64_t k = 0; k < width; ++k) bias[k] = a.bias[k] + a.bias[width + k];
  }
  RnnProduct<T> product(scratch, a.batch, width, n, a.r, width);
  const auto peep = [&](const T* weights, const T* cell, T* gate) {
    for (int64_t k = 0; k < n; ++k) gate[k] += weights[k] * cell[k];
  };
  rnn_for_each_step(a, a.w, width, static_cast<const T*>(bias), [&](int64_t t, T* gates) {
    product(h, gates);
    rnn_for_each_row(a, t, gates, width, h, [&](int64_t b, T* gate) {
      T *in = gate, *out = gate + n, *forget = gate + 2 * n, *fresh = gate + 3 * n, *cell = c + b * n;
      if (a.peephole != nullptr) {
        peep(a.peephole, cell, in);
        peep(a.peephole + 2 * n, cell, forget);
        rnn_activate(a.f, a.clip, in, in, n);
        rnn_activate(a.f, a.clip, forget, forget, n);
      } else {
        rnn_activate(a.f, a.clip, in, in, 3 * n);
      }
      rnn_activate(a.g, a.clip, fresh, fresh, n);
      if (a.input_forget)
        for (int64_t k = 0; k < n; ++k) forget[k] = 1 - in[k];
      for (int64_t k = 0; k < n; ++k) cell[k] = forget[k] * cell[k] + in[k] * fresh[k];
      if (a.peephole != nullptr) {
        peep(a.peephole + n, cell, out);
        rnn_activate(a.f, a.clip, out, out, n);
      }
      T *state = h + b * n, *shown = activated + b * n;
      rnn_activate(a.h, a.clip, cell, shown, n);
      for (int64_t k = 0; k < n; ++k) state[k] = out[k] * shown[k];
    });
  });
  rnn_store_state(h, a.final_h, a.batch, n);
  rnn_store_state(c, a.final_c, a.batch, n);
}

}  // namespace tenon::kernels

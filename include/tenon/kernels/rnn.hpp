// Recurrent networks: the parts that all cells share (the inputs' product for many steps at once, the order
// of steps, sequences that end early, activations), the simple network, GRU and LSTM. Types: float and
// double.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/kernels/gemm/gemm.hpp"
#include "tenon/kernels/move/transpose.hpp"

namespace tenon::TENON_ABI::kernels {

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

template <class Arch, class T>
void lstm_units_impl(const T* gates, int64_t hidden, int64_t n, T* cell, T* h);
template <class Arch, class T>
void gru_gates_impl(T* update, const T* reset, int64_t n, const T* from, T* own);
template <class Arch, class T>
void gru_units_impl(const T* update, const T* fresh, const T* own, int64_t n, const T* before, T* h);

/// A step of an LSTM for n of its units: i = sigmoid, o = sigmoid, f = sigmoid and c = tanh of the sums in
/// `gates`, `hidden` apart; cell = f * cell + i * c, h = o * tanh(cell).
template <class T>
inline void lstm_units(const T* gates, int64_t hidden, int64_t n, T* cell, T* h) {
  simd::dispatch([&]<class Arch>(Arch) { lstm_units_impl<Arch>(gates, hidden, n, cell, h); });
}
/// The same for a GRU, before h is known: update = sigmoid(update), own = sigmoid(reset) * from, which may be
/// own.
template <class T>
inline void gru_gates(T* update, const T* reset, int64_t n, const T* from, T* own) {
  simd::dispatch([&]<class Arch>(Arch) { gru_gates_impl<Arch>(update, reset, n, from, own); });
}
/// And afterwards: h = (1 - update) * tanh(fresh + own) + update * before, without `own` if it is nullptr.
template <class T>
inline void gru_units(const T* update, const T* fresh, const T* own, int64_t n, const T* before, T* h) {
  simd::dispatch([&]<class Arch>(Arch) { gru_units_impl<Arch>(update, fresh, own, n, before, h); });
}

/// The vector of batch entry b at step t (or for all steps) is at data + t * step + b * row.
template <class T>
struct RnnRows {
  T* data = nullptr;  ///< nullptr: absent
  int64_t step = 0, row = 0;

  explicit operator bool() const { return data != nullptr; }
  T* at(int64_t t, int64_t b) const { return data + t * step + b * row; }
};

/// One direction of a recurrent network. Each cell defines how many gates it has, and their order.
template <class T>
struct RnnArgs {
  int64_t steps = 0, batch = 0, input = 0, hidden = 0;
  RnnRows<const T> x;             ///< vectors of `input`
  const int32_t* lens = nullptr;  ///< (batch) each in [0, steps], or nullptr: all equal `steps`
  bool reverse = false;           ///< each sequence from its last vector to its first
  const T* w = nullptr;           ///< (gates hidden, input)
  const T* packed_w = nullptr;    ///< what pack_b wrote for W^T; `w` is then not read
  const T* r = nullptr;           ///< (gates hidden, hidden)
  const T* bias = nullptr;        ///< (2 gates hidden): w's bias, then r's; or nullptr
  RnnRows<const T> initial_h;     ///< vectors of `hidden`; absent: zeros
  RnnRows<T> y;                   ///< h after each step, zeros past the end of a sequence; may be absent
  RnnRows<T> final_h;             ///< may be absent
  T clip = std::numeric_limits<T>::infinity();  ///< arguments of activations are clamped to [-clip, clip]

  /// Whether function f is `kind`, without clipping.
  bool usual(const RnnFunction& f, RnnActivation kind) const {
    return f.kind == kind && !(clip < std::numeric_limits<T>::infinity());
  }
};

namespace detail {

/// The division of a step's work among threads. Rows of a large batch pass through all steps without waiting
/// for each other. Otherwise threads share the units, and with them the rows of R, and synchronise after each
/// phase.
struct RnnCut {
  int64_t hidden, rows, blocks = 1;
  bool divisible = false;  ///< whether several threads would share the units

  template <class T>
  RnnCut(const RnnArgs<T>& a, int64_t gates) : hidden(a.hidden), rows(a.batch) {
    // Multiply-adds of a microsecond, several times what synchronising threads takes; and of the time that
    // waking them takes.
    constexpr int64_t part = task_work::products / 4, all = task_work::products;
    if (hidden <= 4) return;
    const int64_t work = rows * gates * hidden * hidden;
    divisible = work >= 2 * part;
    const int64_t parts = std::min({threads_at_hand(), work / part, a.steps * work / all});
    if (parts <= 1) return;
    if (rows >= 16) rows = ((rows + parts - 1) / parts + 7) / 8 * 8;
    else blocks = std::clamp<int64_t>(hidden / 16, 1, parts);
  }
  /// The first unit of a block.
  int64_t begin(int64_t block) const { return block == blocks ? hidden : hidden / 16 * block / blocks * 16; }
};

/// Work on one step on which nothing else in its phase depends.
template <class T>
struct RnnPart {
  int64_t step;
  int64_t phase;
  int64_t block;
  int64_t b0, b1;  ///< entries of the batch
  int64_t u0, u1;  ///< units of the block
  T* gates;        ///< (batch, gates hidden): X W^T + bias of the step
  const T* h;      ///< (batch, hidden) before the step
  T* next;         ///< and after it
  bool backward;   ///< in every other step: R is read from its end, which is still cached
};

/// Adds h R^T to a part's gates. r (gates hidden, hidden), packed if there are enough rows to make that pay.
template <class T>
class RnnProduct {
 public:
  /// `row` is the distance between rows of gates.
  RnnProduct(Scratch& scratch, const RnnArgs<T>& a, const RnnCut& cut, const T* r, int64_t gates, int64_t row)
      : cut_(cut), gates_(gates) {
    args_.k = args_.a_row = a.hidden;
    args_.b = r, args_.b_row = 1, args_.b_col = a.hidden;
    args_.c_row = args_.d_row = row;
    args_.beta = 1;
    if (a.hidden == 0) return;
    if (a.batch <= 4) {
      // Sums along short rows are slow. A small matrix that many steps read is transposed if enough columns
      // are summed at once.
      if (a.hidden > 64 || a.steps < 16 || a.batch * gates * a.hidden < 128 || cut.divisible) return;
      const int64_t extents[] = {gates * a.hidden, a.hidden}, swapped[] = {1, 0};
      T* turned = scratch.take<T>(extents[0] * extents[1]);
      transpose(static_cast<void*>(turned), r, extents, swapped, sizeof(T));
      args_.b = turned, args_.b_row = extents[0], args_.b_col = 1;
      return;
    }
    // One matrix, or if threads share the units one per gate and block.
    const bool whole = cut.blocks == 1;
    const int64_t pieces = whole ? 1 : gates;
    int64_t columns = whole ? gates * a.hidden : 0;
    for (int64_t block = 0; !whole && block < cut.blocks; ++block)
      columns = std::max(columns, cut.begin(block + 1) - cut.begin(block));
    packed_size_ = packed_b_size<T>(a.hidden, columns);
    T* packed = scratch.take<T>(cut.blocks * pieces * packed_size_);
    packed_ = packed;
    for (int64_t block = 0; block < cut.blocks; ++block)
      for (int64_t gate = 0; gate < pieces; ++gate, packed += packed_size_) {
        GemmArgs<T> piece = args_;
        piece.n = whole ? columns : cut.begin(block + 1) - cut.begin(block);
        piece.b += (gate * a.hidden + cut.begin(block)) * a.hidden;
        pack_b(piece, packed);
      }
  }

  void operator()(const RnnPart<T>& p, const T* h, T* gates) const {
    const int64_t hidden = cut_.hidden;
    GemmArgs<T> g = args_;
    g.m = p.b1 - p.b0;
    g.n = p.u1 - p.u0;
    g.a = h + p.b0 * hidden;
    g.b += p.u0 * hidden;
    g.c = gates + p.b0 * g.c_row + p.u0;
    const bool turned = g.b_col == 1;
    if (turned && p.backward) {
      g.a += hidden - 1, g.a_col = -1;
      g.b += (hidden - 1) * g.b_row, g.b_row = -g.b_row;
    }
    // Gates in reverse order are separate products, which pays only for what the first caches do not hold.
    const bool large = gates_ * hidden * hidden * static_cast<int64_t>(sizeof(T)) >= cache_bytes::l2 / 2;
    const bool backward = large && !turned && p.backward;
    if (cut_.blocks == 1 && (packed_ != nullptr || !backward)) {
      g.n = gates_ * hidden;
      g.packed_b = packed_;
      g.d = g.c;
      gemm(g);
    } else if (packed_ == nullptr) {
      const int64_t same = 0, to_gate = backward ? -hidden : hidden, to_matrix = to_gate * hidden;
      if (backward) g.c += (gates_ - 1) * hidden, g.b += (gates_ - 1) * hidden * hidden;
      g.d = g.c;
      g.batch = {.rank = 1, .extents = &gates_, .a = &same, .b = &to_matrix, .c = &to_gate, .d = &to_gate};
      gemm(g);
    } else {
      Scratch scratch;
      T* packed_h = scratch.take<T>(packed_a_size<T>(g.m, hidden));
      pack_a(g, packed_h);
      g.packed_a = packed_h;
      for (int64_t gate = 0; gate < gates_; ++gate, g.c += hidden) {
        g.packed_b = packed_ + (p.block * gates_ + gate) * packed_size_;
        g.d = g.c;
        gemm(g);
      }
    }
  }

 private:
  RnnCut cut_;
  int64_t gates_;
  GemmArgs<T> args_;
  const T* packed_ = nullptr;
  int64_t packed_size_ = 0;
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

/// Calls part(RnnPart) until all steps are done. For the first `joint` gates, the biases of R are added to
/// the biases of W in advance.
template <class T, class F>
void rnn_run(const RnnArgs<T>& a, const RnnCut& cut, int64_t gates, int64_t joint, int64_t phases, F part) {
  const int64_t n = a.hidden, width = gates * n, state = a.batch * n;
  Scratch scratch;
  T* h = scratch.take<T>(2 * state);
  rnn_load_state(h, a.initial_h, a.batch, n);
  T* bias = nullptr;
  if (a.bias != nullptr) {
    bias = scratch.take<T>(width);
    for (int64_t k = 0; k < width; ++k) bias[k] = k < joint * n ? a.bias[k] + a.bias[width + k] : a.bias[k];
  }
  // Multiplies as many steps at once as leave half of the second-level cache to the weights.
  constexpr int64_t bytes = cache_bytes::l2 / 2;
  const int64_t steps = state > 0 ? a.steps : 0, step_size = a.batch * width;
  const int64_t chunk =
      std::clamp<int64_t>(bytes / std::max<int64_t>(step_size * static_cast<int64_t>(sizeof(T)), 1), 1,
                          std::max<int64_t>(steps, 1));
  T* products = scratch.take<T>(chunk * step_size);
  for (int64_t done = 0; done < steps; done += chunk) {
    const int64_t count = std::min(chunk, steps - done), first = a.reverse ? steps - done - count : done;
    GemmArgs<T> g;
    g.n = width, g.k = a.input;
    g.a = a.x.at(first, 0);
    g.b = a.w, g.b_row = 1, g.b_col = a.input;
    g.packed_b = a.packed_w;
    g.c = products;
    g.col_bias = bias;
    if (a.batch == 1 || a.x.step == a.batch * a.x.row) {
      g.m = count * a.batch;
      g.a_row = a.batch == 1 ? a.x.step : a.x.row;
      g.c_row = width;
    } else {
      g.m = count;
      g.a_row = a.x.step;
      g.c_row = step_size;
      static constexpr int64_t shared = 0;
      g.batch = {.rank = 1, .extents = &a.batch, .a = &a.x.row, .b = &shared, .c = &width};
    }
    gemm(g);
    parallel_for(a.batch, cut.rows, [&](int64_t b0, int64_t b1) {
      parallel_rounds(count * phases, cut.blocks, [&](int64_t round, int64_t block) {
        const int64_t k = round / phases, at = a.reverse ? count - 1 - k : k;
        const bool odd = (done + k) % 2 != 0;
        part(RnnPart<T>{first + at, round % phases, block, b0, b1, cut.begin(block), cut.begin(block + 1),
                        products + at * step_size, odd ? h + state : h, odd ? h : h + state, odd});
      });
    });
  }
  rnn_store_state(steps % 2 == 0 ? h : h + state, a.final_h, a.batch, n);
}

/// Calls cell(offset, gate) for the part's batch entries whose sequence has the step: the offset of the first
/// unit in a state (batch, hidden), and in the first gate. Entries whose sequence has ended keep their h.
/// Writes y.
template <class T, class F>
void rnn_for_each_row(const RnnArgs<T>& a, const RnnPart<T>& p, int64_t gates, F cell) {
  const int64_t count = p.u1 - p.u0;
  for (int64_t b = p.b0; b < p.b1; ++b) {
    const int64_t offset = b * a.hidden + p.u0;
    const bool runs = a.lens == nullptr || p.step < a.lens[b];
    if (runs) cell(offset, p.gates + b * gates * a.hidden + p.u0);
    else std::copy_n(p.h + offset, count, p.next + offset);
    if (!a.y) continue;
    if (runs) std::copy_n(p.next + offset, count, a.y.at(p.step, b) + p.u0);
    else std::fill_n(a.y.at(p.step, b) + p.u0, count, T{0});
  }
}

/// Activates `count` units of gates that are `hidden` apart.
template <class T>
void rnn_activate_gates(const RnnFunction& f, T clip, T* gate, int64_t gates, int64_t hidden, int64_t count) {
  if (count == hidden) return rnn_activate(f, clip, gate, gate, gates * hidden);
  for (int64_t k = 0; k < gates; ++k) rnn_activate(f, clip, gate + k * hidden, gate + k * hidden, count);
}

}  // namespace detail

template <class T>
struct SimpleRnnArgs : RnnArgs<T> {
  RnnFunction f{RnnActivation::tanh};
};

/// H = f(X W^T + H R^T + biases).
template <class T>
void simple_rnn(const SimpleRnnArgs<T>& a) {
  using namespace detail;
  const RnnCut cut(a, 1);
  Scratch scratch;
  const RnnProduct<T> product(scratch, a, cut, a.r, 1, a.hidden);
  rnn_run(a, cut, 1, 1, 1, [&](const RnnPart<T>& p) {
    product(p, p.h, p.gates);
    rnn_for_each_row(a, p, 1, [&](int64_t offset, T* gate) {
      rnn_activate(a.f, a.clip, gate, p.next + offset, p.u1 - p.u0);
    });
  });
}

/// Gates are in the order update, reset, hidden.
template <class T>
struct GruArgs : RnnArgs<T> {
  RnnFunction f{RnnActivation::sigmoid}, g{RnnActivation::tanh};
  bool linear_before_reset = false;  ///< the reset gate scales H R^T + r's bias instead of H
};

/// z, r = f(X W^T + H R^T + biases), h = g(X W^T + (r * H) R^T + biases), H = (1 - z) * h + z * H.
template <class T>
void gru(const GruArgs<T>& a) {
  using namespace detail;
  const int64_t n = a.hidden, width = 3 * n;
  const bool linear = a.linear_before_reset;
  const bool usual = a.usual(a.f, RnnActivation::sigmoid) && a.usual(a.g, RnnActivation::tanh);
  const RnnCut cut(a, 3);
  Scratch scratch;
  T* own = scratch.take<T>(a.batch * n);  // r * H, or with linear_before_reset the hidden gate's H R^T + bias
  const RnnProduct<T> product(scratch, a, cut, a.r, 2, width),
      hidden_product(scratch, a, cut, a.r + 2 * n * n, 1, linear ? n : width);
  rnn_run(a, cut, 3, linear ? 2 : 3, linear ? 1 : 2, [&](const RnnPart<T>& p) {
    const int64_t count = p.u1 - p.u0;
    if (p.phase == 0) {
      product(p, p.h, p.gates);
      for (int64_t b = p.b0; b < p.b1; ++b) {
        T* gate = p.gates + b * width + p.u0;
        T* mine = own + b * n + p.u0;
        const T* before = p.h + b * n + p.u0;
        if (!usual) rnn_activate_gates(a.f, a.clip, gate, 2, n, count);
        if (linear && a.bias != nullptr) std::copy_n(a.bias + width + 2 * n + p.u0, count, mine);
        else if (linear) std::fill_n(mine, count, T{0});
        else if (usual) gru_gates<T>(gate, gate + n, count, before, mine);
        else
          for (int64_t k = 0; k < count; ++k) mine[k] = gate[n + k] * before[k];
      }
      if (!linear) return;
    }
    if (linear) hidden_product(p, p.h, own);
    else hidden_product(p, own, p.gates + 2 * n);
    rnn_for_each_row(a, p, 3, [&](int64_t offset, T* update) {
      T *reset = update + n, *fresh = update + 2 * n, *next = p.next + offset;
      if (usual) {
        if (linear) gru_gates<T>(update, reset, count, own + offset, own + offset);
        return gru_units<T>(update, fresh, linear ? own + offset : nullptr, count, p.h + offset, next);
      }
      if (linear) {
        for (int64_t k = 0; k < count; ++k) own[offset + k] *= reset[k];
        for (int64_t k = 0; k < count; ++k) fresh[k] += own[offset + k];
      }
      rnn_activate(a.g, a.clip, fresh, fresh, count);
      for (int64_t k = 0; k < count; ++k) fresh[k] = (1 - update[k]) * fresh[k], update[k] *= p.h[offset + k];
      for (int64_t k = 0; k < count; ++k) next[k] = fresh[k] + update[k];
    });
  });
}

/// Gates are in the order input, output, forget, cell.
template <class T>
struct LstmArgs : RnnArgs<T> {
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
  const int64_t n = a.hidden;
  const RnnCut cut(a, 4);
  Scratch scratch;
  T* c = scratch.take<T>(a.batch * n);
  rnn_load_state(c, a.initial_c, a.batch, n);
  const RnnProduct<T> product(scratch, a, cut, a.r, 4, 4 * n);
  const bool usual = a.peephole == nullptr && !a.input_forget && a.usual(a.f, RnnActivation::sigmoid) &&
                     a.usual(a.g, RnnActivation::tanh) && a.usual(a.h, RnnActivation::tanh);
  rnn_run(a, cut, 4, 4, 1, [&](const RnnPart<T>& p) {
    const int64_t count = p.u1 - p.u0;
    product(p, p.h, p.gates);
    rnn_for_each_row(a, p, 4, [&](int64_t offset, T* in) {
      T *out = in + n, *forget = in + 2 * n, *fresh = in + 3 * n, *cell = c + offset, *next = p.next + offset;
      if (usual) return lstm_units<T>(in, n, count, cell, next);
      const auto peep = [&](int64_t k, T* gate) {
        const T* weights = a.peephole + k * n + p.u0;
        for (int64_t e = 0; e < count; ++e) next[e] = weights[e] * cell[e];
        for (int64_t e = 0; e < count; ++e) gate[e] += next[e];
        rnn_activate(a.f, a.clip, gate, gate, count);
      };
      if (a.peephole != nullptr) peep(0, in), peep(2, forget);
      else rnn_activate_gates(a.f, a.clip, in, 3, n, count);
      rnn_activate(a.g, a.clip, fresh, fresh, count);
      if (a.input_forget)
        for (int64_t k = 0; k < count; ++k) forget[k] = 1 - in[k];
      for (int64_t k = 0; k < count; ++k) forget[k] *= cell[k], fresh[k] *= in[k];
      for (int64_t k = 0; k < count; ++k) cell[k] = forget[k] + fresh[k];
      if (a.peephole != nullptr) peep(1, out);
      rnn_activate(a.h, a.clip, cell, next, count);
      for (int64_t k = 0; k < count; ++k) next[k] *= out[k];
    });
  });
  rnn_store_state(c, a.final_c, a.batch, n);
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/rnn_impl.hpp"
#endif

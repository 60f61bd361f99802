// The equations of recurrent networks one number at a time, to which the operators are held.
#pragma once

#include <cmath>
#include <functional>

#include "tenon/base/thread_pool.hpp"
#include "tests/op/numbers.hpp"
#include "tests/op/stated.hpp"

namespace tenon::test {

using Function = std::function<double(double)>;

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double hyperbolic(double x) { return std::tanh(x); }

struct RecurrentCase {
  int64_t steps = 4, batch = 3, input = 5, hidden = 6;
  bool bias = true, states = true, peephole = false;
  std::vector<int32_t> lens{};
  std::vector<Function> functions{};  ///< of both directions; empty: the defaults
};

/// One step of one entry of the batch: the gates' products of x (w's bias with them) and of h (r's), h, and
/// the result for each number of the state. `act(f, v)` is activation f of the direction after the clip;
/// `recur(gate, j, h)` is row j of a gate of R times h, without bias. LSTM reads peepholes, and changes c.
struct Step {
  const List &x, &r_bias, &h, &peepholes;
  List& c;
  std::function<double(int, double)> act;
  std::function<double(int64_t gate, int64_t j, const List& h)> recur;
  double from_x(int64_t gate, int64_t j) const {
    return x[static_cast<std::size_t>(gate * static_cast<int64_t>(h.size()) + j)];
  }
  double bias(int64_t gate, int64_t j) const {
    return r_bias[static_cast<std::size_t>(gate * static_cast<int64_t>(h.size()) + j)];
  }
};
using Cell = std::function<List(const Step&)>;

/// Holds op, at both layouts, to the cell.
template <class T, class Op>
void check_recurrent(const RecurrentCase& k, Op op, int64_t gates, const std::vector<Function>& defaults,
                     const Cell& cell, double tolerance) {
  const int64_t D = op::direction_count(op.direction), S = k.steps, B = k.batch, I = k.input, H = k.hidden;
  const auto n = [](int64_t v) { return static_cast<std::size_t>(v); };
  const List xs = numbers(S * B * I, 1), w = numbers(D * gates * H * I, 2, 0.7),
             r = numbers(D * gates * H * H, 3, 1 / std::sqrt(static_cast<double>(H)));
  const List b = k.bias ? numbers(D * 2 * gates * H, 4, 0.5) : List(n(D * 2 * gates * H));
  const List h0 = k.states ? numbers(D * B * H, 5) : List(n(D * B * H));
  constexpr bool cells = requires { op.input_forget; };  // of LSTM
  const List c0 = k.states ? numbers(D * B * H, 6, 2) : List(n(D * B * H));
  const List p = k.peephole ? numbers(D * 3 * H, 7) : List(n(D * 3 * H));
  List y(n(S * D * B * H)), last(n(D * B * H)), last_c(n(D * B * H));
  const double clip = op.clip ? *op.clip : INFINITY;
  for (int64_t d = 0; d < D; ++d)
    for (int64_t e = 0; e < B; ++e) {
      const int64_t length = k.lens.empty() ? S : k.lens[n(e)];
      List h(h0.begin() + (d * B + e) * H, h0.begin() + (d * B + e + 1) * H);
      List c(c0.begin() + (d * B + e) * H, c0.begin() + (d * B + e + 1) * H);
      const List peepholes(p.begin() + d * 3 * H, p.begin() + (d + 1) * 3 * H);
      const List r_bias(b.begin() + (d * 2 + 1) * gates * H, b.begin() + (d * 2 + 2) * gates * H);
      for (int64_t s = 0; s < length; ++s) {
        const int64_t t = d == 1 || op.direction == "reverse" ? length - 1 - s : s;
        List x;
        for (int64_t row = 0; row < gates * H; ++row) {
          double sum = b[n(d * 2 * gates * H + row)];
          for (int64_t i = 0; i < I; ++i)
            sum += xs[n((t * B + e) * I + i)] * w[n((d * gates * H + row) * I + i)];
          x.push_back(sum);
        }
        const auto act = [&](int f, double v) {
          const std::size_t each = defaults.size();
          const Function& function = k.functions.empty() ? defaults[n(f)] : k.functions[n(d) * each + n(f)];
          return function(std::clamp(v, -clip, clip));
        };
        const auto recur = [&](int64_t gate, int64_t j, const List& v) {
          double sum = 0;
          for (int64_t i = 0; i < H; ++i) sum += v[n(i)] * r[n((d * gates * H + gate * H + j) * H + i)];
          return sum;
        };
        h = cell({x, r_bias, h, peepholes, c, act, recur});
        for (int64_t j = 0; j < H; ++j) y[n(((t * D + d) * B + e) * H + j)] = h[n(j)];
      }
      for (int64_t j = 0; j < H; ++j)
        last[n((d * B + e) * H + j)] = h[n(j)], last_c[n((d * B + e) * H + j)] = c[n(j)];
    }

  // (a, b, c, m) as (c, a, b, m): the order of layout 1.
  const auto batch_first = [&](const List& l, int64_t p, int64_t q, int64_t m) {
    List to;
    for (int64_t e = 0; e < B; ++e)
      for (int64_t i = 0; i < p; ++i)
        for (int64_t j = 0; j < q; ++j)
          for (int64_t u = 0; u < m; ++u) to.push_back(l[n(((i * q + j) * B + e) * m + u)]);
    return to;
  };
  Value lens, bias, peepholes;
  if (!k.lens.empty()) lens = Tensor<int32_t>(Extents{B}, k.lens.begin(), k.lens.end());
  if (k.bias) bias = tensor<T>({D, 2 * gates * H}, b);
  if (k.peephole) peepholes = tensor<T>({D, 3 * H}, p);
  for (int64_t layout : {0, 1}) {
    op.layout = layout;
    const bool last_batch = layout == 0;
    const auto state = [&](const List& l) -> Value {
      return last_batch ? tensor<T>({D, B, H}, l) : tensor<T>({B, D, H}, batch_first(l, 1, D, H));
    };
    std::vector<Value> in{
        last_batch ? tensor<T>({S, B, I}, xs) : tensor<T>({B, S, I}, batch_first(xs, 1, S, I)),
        tensor<T>({D, gates * H, I}, w),
        tensor<T>({D, gates * H, H}, r),
        bias,
        lens,
        k.states ? state(h0) : Value()};
    std::vector<Value> out{
        last_batch ? tensor<T>({S, D, B, H}, y) : tensor<T>({B, S, D, H}, batch_first(y, S, D, H)),
        state(last)};
    if (cells) {
      in.insert(in.end(), {k.states ? state(c0) : Value(), peepholes});
      out.push_back(state(last_c));
    }
    check(op, in, out, tolerance, tolerance);
  }
}

/// Every direction, with and without optional operands, with lengths, and every type.
template <class Op>
void check_forms(const Op& base, int64_t gates, const std::vector<Function>& defaults, const Cell& cell) {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    CAPTURE(direction);
    Op op = base;
    op.direction = direction;
    const RecurrentCase cases[] = {
        {},
        {.bias = false, .states = false},
        {.lens = {4, 0, 2}},
        {.steps = 1, .batch = 1, .input = 1, .hidden = 1},
        {.steps = 9, .batch = 7, .input = 3, .hidden = 17},
        {.steps = 300, .batch = 1, .input = 2, .hidden = 2},
        {.steps = 20, .batch = 3, .input = 3, .hidden = 44},
        {.steps = 0},
        {.batch = 0},
    };
    for (const RecurrentCase& k : cases) {
      CAPTURE(&k - cases);
      check_recurrent<double>(k, op, gates, defaults, cell, 1e-10);
      check_recurrent<float>(k, op, gates, defaults, cell, 2e-5);
    }
    check_recurrent<float16>({}, op, gates, defaults, cell, 1e-2);
    check_recurrent<bfloat16>({}, op, gates, defaults, cell, 8e-2);
  }
}

/// Batches and sizes for which threads share the units, the batch, the directions, or nothing.
template <class Op>
void check_threads(const Op& base, int64_t gates, int results) {
  for (const char* direction : {"reverse", "bidirectional"})
    for (int64_t batch : {1, 9, 40})
      for (int64_t work : {1 << 12, 5 << 15}) {
        const int64_t hidden = static_cast<int64_t>(std::sqrt(work / (gates * batch))) + 1;
        CAPTURE(direction);
        CAPTURE(batch);
        CAPTURE(hidden);
        Op op = base;
        op.direction = direction;
        const int64_t d = op::direction_count(op.direction), width = gates * hidden;
        std::vector<int32_t> lens(static_cast<std::size_t>(batch), 4);
        lens.back() = 2;
        const std::vector<Value> in{tensor<float>({4, batch, 3}, numbers(4 * batch * 3, 1)),
                                    tensor<float>({d, width, 3}, numbers(d * width * 3, 2)),
                                    tensor<float>({d, width, hidden}, numbers(d * width * hidden, 3, 0.02)),
                                    tensor<float>({d, 2 * width}, numbers(d * 2 * width, 4)),
                                    Tensor<int32_t>(Extents{batch}, lens.begin(), lens.end())};
        const std::vector<Value> alone = run(op, in, results);
        for (const int threads : {2, 5}) {
          ThreadPool pool(threads);
          const ScopedPool scope(pool);
          check(op, in, alone, 0, 0);
        }
      }
}

}  // namespace tenon::test

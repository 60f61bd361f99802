// RNN, GRU and LSTM share operands, directions, layouts, activations by name, and the extents of operands.
//
// A sequence of length 0 leaves its initial state in Y_h (and Y_c): ONNX's text is silent, but its reference
// implementation keeps the state at every step past a sequence's end. ONNX Runtime gives zeros there.
#pragma once

#include <array>

#include "tenon/kernels/rnn.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/framework/attribute.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// The specification of an operator of the family, without what only one of them has.
constexpr Spec recurrent_spec(std::string_view name, List<int16_t, 10> since) {
  return {.name = name,
          .since = since,
          .inputs = {{"X", "T"},
                     {"W", "T"},
                     {"R", "T"},
                     {"B", "T", optional},
                     {"sequence_lens", "T1", optional},
                     {"initial_h", "T", optional}},
          .outputs = {{"Y", "T", optional}, {"Y_h", "T", optional}},
          .types = {{"T", {{1, types::floats}, {22, types::floats_bf16}}}, {"T1", types::int32}}};
}

/// The number of directions that the attribute asks for.
constexpr int direction_count(const Str& direction) { return direction == "bidirectional" ? 2 : 1; }

namespace recurrent_detail {

struct ActivationName {
  std::string_view name;
  kernels::RnnActivation kind;
  float alpha, beta;  // ONNX's defaults
  bool takes_alpha, takes_beta;
};
inline constexpr ActivationName activation_names[] = {
    {"relu", kernels::RnnActivation::relu, 0, 0, false, false},
    {"tanh", kernels::RnnActivation::tanh, 0, 0, false, false},
    {"sigmoid", kernels::RnnActivation::sigmoid, 0, 0, false, false},
    {"affine", kernels::RnnActivation::affine, 1, 0, true, true},
    {"leakyrelu", kernels::RnnActivation::leaky_relu, 0.01f, 0, true, false},
    {"thresholdedrelu", kernels::RnnActivation::thresholded_relu, 1, 0, true, false},
    {"scaledtanh", kernels::RnnActivation::scaled_tanh, 1, 1, true, true},
    {"hardsigmoid", kernels::RnnActivation::hard_sigmoid, 0.2f, 0.5f, true, true},
    {"elu", kernels::RnnActivation::elu, 1, 0, true, false},
    {"softsign", kernels::RnnActivation::softsign, 0, 0, false, false},
    {"softplus", kernels::RnnActivation::softplus, 0, 0, false, false},
};

inline const ActivationName* find_activation(std::string_view name) {
  for (const ActivationName& a : activation_names) {
    const auto same = [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x - 'A' + 'a' : x) == y; };
    if (std::equal(name.begin(), name.end(), a.name.begin(), a.name.end(), same)) return &a;
  }
  return nullptr;
}

}  // namespace recurrent_detail

/// The activations of both directions: `each` names for each, as the attribute or by default. Activations
/// with an alpha or a beta take it from the lists in order, or ONNX's default once these are exhausted.
template <int each>
std::array<kernels::RnnFunction, 2 * each> rnn_functions(const std::vector<std::string>& names,
                                                         const std::vector<float>& alphas,
                                                         const std::vector<float>& betas,
                                                         const std::array<std::string_view, each>& defaults) {
  std::array<kernels::RnnFunction, 2 * each> functions;
  std::size_t alpha = 0, beta = 0;
  for (std::size_t k = 0; k < functions.size(); ++k) {
    const bool named = k < names.size();
    const auto* a =
        recurrent_detail::find_activation(named ? std::string_view(names[k]) : defaults[k % each]);
    functions[k] = {a->kind, a->alpha, a->beta};
    if (a->takes_alpha && alpha < alphas.size()) functions[k].alpha = alphas[alpha++];
    if (a->takes_beta && beta < betas.size()) functions[k].beta = betas[beta++];
  }
  return functions;
}

/// The attributes that the three operators share, for their rule.
struct RecurrentForm {
  int gates;        ///< of W and R
  int activations;  ///< of one direction
  const Str& direction;
  const Opt<int64_t>& hidden_size;
  const std::vector<std::string>& names;
  const Opt<float>& clip;
  int64_t layout;
  bool spare_activations = false;  ///< one direction may name activations for two, as RNN's default does
};

/// Refuses attributes that are invalid whatever the operands; whether they are valid.
inline bool check_recurrent(Infer& i, const RecurrentForm& form) {
  if (!i.expect_choice("direction", form.direction, {"forward", "reverse", "bidirectional"})) return false;
  if (!i.expect_choice("layout", form.layout, {0, 1})) return false;
  if (form.clip && !(*form.clip >= 0)) return i.fail("clip is negative"), false;
  const auto named = static_cast<int>(form.names.size());
  if (named > 0 && !(form.spare_activations && named == 2 * form.activations) &&
      !i.expect_entries("activations", form.names.size(), form.activations * direction_count(form.direction)))
    return false;
  for (const std::string& name : form.names)
    if (recurrent_detail::find_activation(name) == nullptr)
      return i.fail("activation '", std::string_view(name), "' is unknown"), false;
  return true;
}

/// The rule for X, W, R, B, sequence_lens and initial_h (inputs 0 to 5), Y and Y_h (outputs 0 and 1). Returns
/// the extents of a state such as Y_h.
inline Dims infer_recurrent(Infer& i, const RecurrentForm& form) {
  const int directions = direction_count(form.direction);
  if (!check_recurrent(i, form)) return {};
  if (!i.expect_rank(0, 3)) return {};
  Dim steps, batch, input, hidden;
  const Dims &x = i.dims(0), &w = i.dims(1), &r = i.dims(2);
  if (form.hidden_size) hidden = *form.hidden_size;
  if (x.ranked()) steps = x[form.layout == 0 ? 0 : 1], batch = x[form.layout == 0 ? 1 : 0], input = x[2];
  if (r.rank() == 3 && !hidden.known()) hidden = r[2];
  if (!i.expect_at_least("hidden_size", hidden, 0)) return {};
  if (hidden.known() && !(hidden * (2 * form.gates)).known())
    return i.fail("hidden_size ", hidden, " is too large"), Dims{};
  if (w.rank() == 3 && !hidden.known() && w[1].known()) hidden = w[1] / form.gates;
  const Dims state = form.layout == 0 ? Dims{directions, batch, hidden} : Dims{batch, directions, hidden};
  i.for_runs([&] {
    if (!i.expect_rank(1, 3) || !i.expect_rank(2, 3)) return;
    if (r.ranked()) i.unify(hidden, r[2], "hidden_size and extents of R");
    i.expect_extents(1, {directions, hidden * form.gates, input});
    i.expect_extents(2, {directions, hidden * form.gates, hidden});
    i.expect_extents(3, {directions, hidden * (2 * form.gates)});
    i.expect_extents(4, {batch});
    i.expect_extents(5, state);
  });
  i.out(0,
        form.layout == 0 ? Dims{steps, directions, batch, hidden} : Dims{batch, steps, directions, hidden});
  i.out(1, state);
  return state;
}

/// Error{out_of_range} unless each length is one of a sequence of at most `steps`.
inline void check_sequence_lens(std::string_view name, TensorView<const int32_t> lens, int64_t steps) {
  for (int64_t b = 0; b < lens.size(); ++b)
    if (lens[b] < 0 || lens[b] > steps)
      raise(ErrorCode::out_of_range, name, "sequence_lens has ", lens[b], ", but X has ", steps, " steps");
}

/// The rows of direction d of a state (direction, batch, hidden), or with layout 1 (batch, direction,
/// hidden).
template <class T>
kernels::RnnRows<T> state_rows(T* data, int d, int directions, int64_t batch, int64_t hidden,
                               int64_t layout) {
  if (data == nullptr) return {};
  return layout == 0 ? kernels::RnnRows<T>{data + d * batch * hidden, 0, hidden}
                     : kernels::RnnRows<T>{data + d * hidden, 0, directions * hidden};
}

/// Sizes, X, Y and lengths of direction d, for X of these extents.
template <class T>
void fill_direction(kernels::RnnArgs<T>& a, const T* x, std::span<const int64_t> extents, int64_t hidden,
                    T* y, const int32_t* lens, const Str& direction, int d, int64_t layout) {
  const int directions = direction_count(direction);
  a.steps = extents[layout == 0 ? 0 : 1];
  a.batch = extents[layout == 0 ? 1 : 0];
  a.input = extents[2];
  a.hidden = hidden;
  a.reverse = d == 1 || direction == "reverse";
  a.lens = lens;
  if (layout == 0) {
    a.x = {x, a.batch * a.input, a.input};
    if (y) a.y = {y + d * a.batch * hidden, directions * a.batch * hidden, hidden};
  } else {
    a.x = {x, a.input, a.steps * a.input};
    if (y) a.y = {y + d * hidden, directions * hidden, a.steps * directions * hidden};
  }
}

/// Calls run(d) for each direction: both in parallel, so that threads need not synchronise at each step,
/// unless there are more threads and the batch is large enough to keep them busy.
template <class F>
void for_directions(int directions, int64_t batch, F run) {
  if (batch <= 4 || threads_at_hand() <= directions) {
    parallel_for(directions, 1, [&](int64_t begin, int64_t end) {
      for (int64_t d = begin; d < end; ++d) run(static_cast<int>(d));
    });
  } else {
    for (int d = 0; d < directions; ++d) run(d);
  }
}

/// The operands and results that the three operators share.
template <class T>
struct RecurrentOperands {
  TensorView<const T> x, w, r, b;
  TensorView<const int32_t> sequence_lens;
  TensorView<const T> initial_h;
  TensorView<T> y, y_h;
  const compute_t<T>* packed_w = nullptr;  ///< each direction's W^T as pack_b writes it, in place of w
};

/// Calls cell(args, d) for each direction d; the callee adds to these kernels' arguments (`Args`, such as
/// kernels::GruArgs) the cell's own and runs the kernel. Error{out_of_range} for a length below 0 or above
/// the number of steps.
template <template <class> class Args, class T, class F>
void run_recurrent(std::string_view name, const RecurrentForm& form, const RecurrentOperands<T>& o, F cell) {
  using W = compute_t<T>;
  Scratch scratch;
  const auto wide = [&](TensorView<const T> v) { return widen(scratch, v.data(), v.size()); };
  const auto result = [&](TensorView<T> v) { return v ? wide_result(scratch, v.data(), v.size()) : nullptr; };
  const int directions = direction_count(form.direction);
  const int64_t hidden = o.r.extent(2), batch = o.x.extent(form.layout == 0 ? 1 : 0);
  if (o.sequence_lens) check_sequence_lens(name, o.sequence_lens, o.x.extent(form.layout == 0 ? 0 : 1));
  if (batch == 0 || hidden == 0) return;  // no results, whatever the other extents
  const W *x = wide(o.x), *w = wide(o.w), *r = wide(o.r), *b = wide(o.b), *h0 = wide(o.initial_h);
  W *y = result(o.y), *h1 = result(o.y_h);
  for_directions(directions, batch, [&](int d) {
    Args<W> a;
    fill_direction(a, x, o.x.extents(), hidden, y, o.sequence_lens.data(), form.direction, d, form.layout);
    if (o.packed_w) a.packed_w = o.packed_w + d * kernels::packed_b_size<W>(a.input, form.gates * hidden);
    else a.w = w + d * form.gates * hidden * a.input;
    a.r = r + d * form.gates * hidden * hidden;
    if (o.b) a.bias = b + d * 2 * form.gates * hidden;
    a.initial_h = state_rows(h0, d, directions, batch, hidden, form.layout);
    a.final_h = state_rows(h1, d, directions, batch, hidden, form.layout);
    if (form.clip) a.clip = static_cast<W>(*form.clip);
    cell(a, d);
  });
  if (o.y) narrow(y, o.y.data(), o.y.size());
  if (o.y_h) narrow(h1, o.y_h.data(), o.y_h.size());
}

/// The loop over the batch. A state needs the whole one before it, so that there is none over its numbers.
template <class L>
void add_recurrent_loops(L& l, int64_t layout) {
  const int x = layout == 0 ? 1 : 0, y = layout == 0 ? 2 : 0;
  l.over({{0, x}, {4, 0}, {5, x}, {6, x}}, {{0, y}, {1, x}, {2, x}});
}

/// The multiplications of the products with W and R, of all steps.
template <class L>
double recurrent_multiplications(const L& l) {
  return l.extent(l.dims(0), 0) * l.extent(l.dims(0), 1) * (l.elements(l.dims(1)) + l.elements(l.dims(2)));
}

}  // namespace tenon::TENON_ABI::op

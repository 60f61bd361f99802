// Einsum: sums of products by Einstein's convention.   onnx.ai/onnx/operators/onnx__Einsum.html
#pragma once

#include <memory>
#include <vector>

#include "tenon/base/convert.hpp"
#include "tenon/kernels/gemm/contract.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

namespace einsum_detail {

inline constexpr int letters = 52;  ///< the label of an ellipsis' first axis; letters come before it

constexpr int label_of(char c) {
  return c >= 'a' && c <= 'z' ? 26 + c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' : -1;
}

using Labels = InlineVector<int, kernels::max_labels>;

/// One operand or the result: the labels before and after an ellipsis.
struct Term {
  Labels before, after;
  bool ellipsis = false;

  constexpr int letters_in() const { return before.size() + after.size(); }
  /// All labels, for an ellipsis of `axes` axes.
  constexpr Labels labels(int axes) const {
    Labels all = before;
    for (int k = 0; ellipsis && k < axes; ++k) all.push_back(letters + k);
    for (int label : after) all.push_back(label);
    return all;
  }
};

/// Reads the labels up to a comma, an arrow or the end, and moves `at` there. False for another character.
constexpr bool read_term(std::string_view text, std::size_t& at, Term& term) {
  for (; at < text.size() && text[at] != ',' && text[at] != '-'; ++at) {
    const char c = text[at];
    if (c == ' ') continue;
    if (c == '.') {
      if (term.ellipsis || text.substr(at, 3) != "...") return false;
      term.ellipsis = true;
      at += 2;
      continue;
    }
    const int label = label_of(c);
    if (label < 0 || term.letters_in() == max_rank) return false;
    (term.ellipsis ? term.after : term.before).push_back(label);
  }
  return true;
}

/// An equation and the extents of its labels. Messages go to the rule.
struct Equation {
  std::span<Term> operands;  ///< the caller's
  Term result{};
  int ellipsis = 0;    ///< axes of the ellipsis
  bool ranked = true;  ///< whether that number is known
  Dim extents[kernels::max_labels]{};

  constexpr bool parse(Infer& i, std::string_view text) {
    std::size_t at = 0;
    const auto refuse = [&] { return i.fail("the equation is not understood at character ", at), false; };
    const std::string_view left = text.substr(0, text.find('-'));
    const auto n = 1 + static_cast<int>(std::count(left.begin(), left.end(), ','));
    if (const auto given = static_cast<int>(operands.size()); n != given)
      return i.fail("the equation has ", n, " terms for ", given, " operands"), false;
    for (Term& term : operands) {
      if (!read_term(text, at, term)) return refuse();
      if (at == text.size() || text[at] == '-') break;
      ++at;
    }
    if (at == text.size()) return imply_result(), true;
    if (text.substr(at, 2) != "->") return refuse();
    at += 2;
    if (!read_term(text, at, result) || at != text.size()) return refuse();
    for (int label : result.labels(0)) {
      int in_result = 0, in_operands = 0;
      for (int other : result.labels(0)) in_result += other == label;
      for (const Term& t : operands)
        for (int other : t.labels(0)) in_operands += other == label;
      if (in_result > 1) return i.fail("the result has a label twice"), false;
      if (in_operands == 0) return i.fail("the result has a label that no operand has"), false;
    }
    return true;
  }
  /// The ellipsis, then the letters that occur once, in the order of ASCII.
  constexpr void imply_result() {
    int count[letters]{};
    for (const Term& t : operands) {
      result.ellipsis |= t.ellipsis;
      for (int label : t.labels(0)) ++count[label];
    }
    for (int label = 0; label < letters; ++label)
      if (count[label] == 1) result.after.push_back(label);
  }
  /// Takes the extents of all operands, dims(k). Axes of one label have equal extents, or 1.
  template <class F>
  constexpr bool bind(Infer& i, F dims) {
    bool seen = false, bound[kernels::max_labels]{};
    for (int k = 0; k < static_cast<int>(operands.size()); ++k) {
      const Term& term = operands[static_cast<std::size_t>(k)];
      const Dims x = dims(k);
      if (!x.ranked()) {
        ranked &= !term.ellipsis;
        for (int label : term.labels(0))
          extents[label] = bound[label] && !extents[label].is(1) ? extents[label] : Dim(),
          bound[label] = true;
        continue;
      }
      const int axes = x.rank() - term.letters_in();
      if (term.ellipsis ? axes < 0 : axes != 0)
        return i.fail("operand ", k, " has rank ", x.rank(), " for a term of ", term.letters_in(), " labels"),
               false;
      if (term.ellipsis) {
        if (seen && axes != ellipsis)
          return i.fail("the ellipsis covers ", ellipsis, " axes, and ", axes, " in operand ", k), false;
        seen = true;
        ellipsis = axes;
      }
      const Labels labels = term.labels(axes);
      for (int d = 0; d < x.rank(); ++d) {
        bool repeated = false;
        for (int e = 0; e < d; ++e) {
          if (labels[e] != labels[d]) continue;
          if (x[e].differs(x[d])) return i.fail("extents of a diagonal differ: ", x[e], " and ", x[d]), false;
          repeated = true;
        }
        if (repeated && !x[d].known()) continue;  // equal to the earlier extent
        Dim& extent = extents[labels[d]];
        if (bound[labels[d]]) extent = i.broadcast(Dims{extent}, Dims{x[d]})[0];
        else extent = x[d];
        if (i.failed()) return false;
        bound[labels[d]] = true;
      }
    }
    return true;
  }
};

/// The types in which elements are multiplied and added: narrow integers are widened, which wraps the same
/// way.
template <class T>
using product_t = std::conditional_t<
    is_float(dtype_of<T>), compute_t<T>,
    std::conditional_t<sizeof(T) >= 4, T, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>>>;

}  // namespace einsum_detail

/// `equation` gives each operand's axes a letter, "bij,bjk->bik". Elements are multiplied where their letters
/// agree, and summed over the letters that the result lacks. A letter that occurs twice in a term takes the
/// diagonal; "..." stands for axes that broadcast; without "->" the result has these axes, and the letters
/// that occur once, sorted. Integers wrap. op::Einsum{.equation = "ij,jk"}(x, y) of (2,3) and (3,4) gives
/// (2,4).
struct Einsum {
  Opt<std::string> equation{};

  static constexpr Spec spec{.name = "Einsum",
                             .since = {12},
                             .inputs = {{"Inputs", "T", variadic}},
                             .outputs = {{"Output", "T"}},
                             .types = {{"T", types::numeric}}};
  static constexpr Attributes attributes{attr("equation", &Einsum::equation).required()};

  void infer(Infer& i) const {
    std::vector<einsum_detail::Term> terms(static_cast<std::size_t>(i.inputs()));
    einsum_detail::Equation e{terms};
    if (!e.parse(i, equation ? std::string_view(*equation) : std::string_view())) return;
    if (!e.bind(i, [&](int k) { return i.dims(k); })) return;
    if (e.result.ellipsis && !e.ranked) return;
    const einsum_detail::Labels labels = e.result.labels(e.ellipsis);
    if (labels.size() > max_rank) return i.fail("the result has a rank above ", max_rank);
    Dims y = Dims::of_rank(0);
    for (int label : labels) y.push_back(e.extents[label]);
    i.out(0, y);
  }
  template <class T>
  void compute(std::span<const TensorView<const T>> inputs, TensorView<T> output) const {
    if (output.empty()) return;
    using C = einsum_detail::product_t<T>;
    // The rule has accepted the operands, and gives the extents of the labels again.
    bool asked = false;
    Infer i(spec, {}, {}, spec.latest(), asked);
    Scratch scratch;
    einsum_detail::Equation e{made<einsum_detail::Term>(scratch, inputs.size())};
    e.parse(i, *equation);
    e.bind(i, [&](int k) { return Dims(inputs[static_cast<std::size_t>(k)].extents()); });
    int64_t extents[kernels::max_labels];
    for (int label = 0; label < kernels::max_labels; ++label)
      extents[label] = e.extents[label].known() ? e.extents[label].value() : 1;

    const auto tensors = made<kernels::Labelled<C>>(scratch, inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k].empty()) {  // sums of nothing
        std::fill(output.begin(), output.end(), T{});
        return;
      }
      kernels::Labelled<C>& t = tensors[k];
      t.data = wide(scratch, inputs[k]);
      const einsum_detail::Labels labels = e.operands[k].labels(e.ellipsis);
      int64_t step = 1;
      for (int d = labels.size(); d-- > 0; step *= inputs[k].extent(d)) {
        if (inputs[k].extent(d) == 1) continue;
        const int at =
            static_cast<int>(std::find(t.labels.begin(), t.labels.end(), labels[d]) - t.labels.begin());
        if (at == t.labels.size()) {
          t.labels.push_back(labels[d]);
          t.strides.push_back(0);
        }
        t.strides[at] += step;
      }
    }
    einsum_detail::Labels order, all = e.result.labels(e.ellipsis);
    for (int label : all)
      if (extents[label] != 1) order.push_back(label);
    C* y = nullptr;
    if constexpr (std::is_same_v<T, C>) y = output.data();
    const kernels::Labelled<C> r = kernels::Contraction<C>(extents, order, scratch)(tensors, y);
    if (y != nullptr && r.data == y) return;
    C* to = y != nullptr ? y : scratch.take<C>(output.size());
    int64_t from[max_rank], steps[max_rank], step = 1;
    for (int d = all.size(); d-- > 0; step *= extents[all[d]]) {
      from[d] = r.stride(all[d]);
      steps[d] = step;
    }
    kernels::move(dtype_of<C>, to, {0, steps}, r.data, {0, from}, output.extents());
    if constexpr (is_float(dtype_of<T>)) narrow(to, output.data(), output.size());
    else if constexpr (!std::is_same_v<T, C>)
      for (int64_t k = 0; k < output.size(); ++k) output[k] = static_cast<T>(to[k]);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  template <class T>
  static std::span<T> made(Scratch& scratch, std::size_t n) {
    T* const p = scratch.take<T>(static_cast<int64_t>(n));
    std::uninitialized_value_construct_n(p, n);
    return {p, n};
  }
  template <class T>
  static const einsum_detail::product_t<T>* wide(Scratch& scratch, TensorView<const T> x) {
    if constexpr (is_float(dtype_of<T>)) {
      return widen(scratch, x.data(), x.size());
    } else if constexpr (std::is_same_v<T, einsum_detail::product_t<T>>) {
      return x.data();
    } else {
      auto* p = scratch.take<einsum_detail::product_t<T>>(x.size());
      std::copy(x.begin(), x.end(), p);
      return p;
    }
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Einsum)

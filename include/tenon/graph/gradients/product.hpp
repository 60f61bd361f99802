// Derivatives of matrix products.
#pragma once

#include "tenon/graph/gradients/step.hpp"
#include "tenon/op/math/einsum.hpp"
#include "tenon/op/math/gemm.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/nn/flatten.hpp"
#include "tenon/op/tensor/transpose.hpp"

namespace tenon::TENON_ABI::gradients {

inline Term mat_mul(Term a, Term b) { return a.writer->add(op::MatMul{}, {a, b}); }
/// Matrices with rows and columns exchanged.
inline Term transposed(Term x, int rank) {
  op::Transpose t;
  for (int k = 0; k < rank; ++k) t.perm.push_back(k);
  std::swap(t.perm[rank - 2], t.perm[rank - 1]);
  return x.writer->add(t, {x});
}
/// x (..., K) as a matrix of K columns.
inline Term as_matrix(Term x, int rank) {
  return rank == 2 ? x : x.writer->add(op::Flatten{.axis = -1}, {x});
}
inline void mat_mul_step(Step& s) {
  int rank_a = s.rank(s.x(0));
  const int rank_b = s.rank(s.x(1));
  Term a = s.x(0), g = s.g();
  const Term b = s.x(1);
  if (rank_b == 1) {  // g has one element for each row of a
    if (s.wants(0)) s.give(0, unsqueeze(g, {-1}) * b);
    if (s.wants(1)) s.give(1, mat_mul(flat(g), as_matrix(a, rank_a)));
    return;
  }
  // A vector is a row.
  if (rank_a == 1) a = unsqueeze(a, {0}), g = unsqueeze(g, {-2}), rank_a = 2;
  const Dims extents = s.w.dims(b);
  if (std::all_of(extents.begin(), extents.end() - 2, [](Dim d) { return d.is(1); })) {
    // All batches share one matrix: they become rows of one product, which needs no sum afterwards.
    const Term rows = as_matrix(g, std::max(rank_a, rank_b));
    if (s.wants(0))
      s.give(0, reshape(s.w.add(op::Gemm{.transB = 1}, {rows, as_matrix(b, rank_b)}), shape(s.x(0))));
    if (s.wants(1))
      s.give(1, reshape(s.w.add(op::Gemm{.transA = 1}, {as_matrix(a, rank_a), rows}), shape(b)));
    return;
  }
  if (s.wants(0)) s.give(0, reshape(sum_to(mat_mul(g, transposed(b, rank_b)), a), shape(s.x(0))));
  if (s.wants(1)) s.give(1, reshape(sum_to(mat_mul(transposed(a, rank_a), g), b), shape(s.x(1))));
}

inline void gemm_step(Step& s) {
  const op::Gemm& gemm = s.op<op::Gemm>();
  const bool ta = gemm.transA != 0, tb = gemm.transB != 0;
  const Term a = s.x(0), b = s.x(1), g = s.g();
  const auto product = [&](Term left, Term right, bool trans_left, bool trans_right) {
    return s.w.add(op::Gemm{.alpha = gemm.alpha, .transA = trans_left, .transB = trans_right}, {left, right});
  };
  if (s.wants(0)) s.give(0, ta ? product(b, g, tb, true) : product(g, b, false, !tb));
  if (s.wants(1)) s.give(1, tb ? product(g, a, true, ta) : product(a, g, !ta, false));
  if (s.wants(2)) s.give_summed(2, gemm.beta == 1 ? g : g * double{gemm.beta});
}

/// A term as an equation states it.
inline std::string stated(const op::einsum_detail::Term& term) {
  std::string text;
  const auto add = [&](const op::einsum_detail::Labels& labels) {
    for (int label : labels) text += static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26);
  };
  add(term.before);
  if (term.ellipsis) text += "...";
  add(term.after);
  return text;
}
/// 0, 1, 2, ... along an axis of x, counted from the end; broadcasts to x.
inline Term places(Term x, int64_t axis) {
  Writer& w = *x.writer;
  const Term extent = shape(x, axis, axis == -1 ? Opt<int64_t>{} : Opt<int64_t>(axis + 1));
  std::vector<int64_t> trailing;
  for (int64_t k = axis + 1; k < 0; ++k) trailing.push_back(k - axis);
  const Term range = w.add(op::Range{}, {w.integer(0), reshape(extent, w.integers({})), w.integer(1)});
  return trailing.empty() ? range : w.add(op::Unsqueeze{}, {range, w.integers(trailing)});
}
/// The derivative with respect to an operand is the product of the others and g, with the operand's labels as
/// the result's. It is broadcast along labels that only the operand has, and lies on the diagonal of labels
/// that the operand has twice.
inline void einsum_step(Step& s) {
  std::vector<op::Info> infos(static_cast<std::size_t>(s.inputs()));
  bool asked = false;
  op::Infer infer(op::Einsum::spec, infos, {}, op::Einsum::spec.latest(), asked);
  std::vector<op::einsum_detail::Term> terms(infos.size());
  op::einsum_detail::Equation equation{terms};
  equation.parse(infer, *s.op<op::Einsum>().equation);
  constexpr auto npos = std::string::npos;
  for (int k = 0; k < s.inputs(); ++k) {
    if (!s.wants(k)) continue;
    const Term x = s.x(k);
    std::string from = stated(equation.result), to;
    std::vector<Term> in{s.g()};
    for (int j = 0; j < s.inputs(); ++j) {
      if (j == k) continue;
      from += str_cat(",", stated(equation.operands[static_cast<std::size_t>(j)]));
      in.push_back(s.x(j));
    }
    const std::string own = stated(equation.operands[static_cast<std::size_t>(k)]);
    const std::size_t dots = own.find("...");
    // Axes after an ellipsis count from the end.
    const auto axis = [&](std::size_t at) {
      return static_cast<int64_t>(dots == npos || at <= dots ? at : at - own.size());
    };
    std::vector<int64_t> lone;  // axes that the product lacks
    std::vector<std::pair<int64_t, int64_t>> diagonals;
    for (std::size_t at = 0; at < own.size(); ++at) {
      const char c = own[at];
      const bool again = own.find(c) != at, elsewhere = from.find(c) != npos;
      if (at == dots) {
        if (elsewhere) to += "...";
        else
          for (auto d = s.rank(x) - static_cast<int64_t>(own.size() - 3); d-- > 0;)
            lone.push_back(axis(at) + d);
        at += 2;
      } else if (again) {
        diagonals.emplace_back(axis(own.find(c)), axis(at));
        lone.push_back(axis(at));
      } else if (!elsewhere) {
        lone.push_back(axis(at));
      } else {
        to += c;
      }
    }
    op::Einsum back;
    back.equation = str_cat(from, "->", to);
    Term d = s.w.add_node(back, in, 1)[0];
    if (!lone.empty()) d = s.w.add(op::Unsqueeze{}, {d, s.w.integers(lone)});
    // An extent 1 of another operand broadcasts to x's, and one of x to the label's.
    if (!s.w.dims(d).same(s.w.dims(x))) d = sum_to(expand(d, shape(x)), x);
    const auto from_end = [&](int64_t a) {
      return a < 0 ? a : a - (dots == npos ? static_cast<int64_t>(own.size()) : s.rank(x));
    };
    for (const auto& [first, again] : diagonals)
      d = where(equal(places(x, from_end(first)), places(x, from_end(again))), d, 0.0);
    s.give(k, d);
  }
}

inline constexpr Rule product_rules[] = {
    {&operator_id<op::MatMul>, mat_mul_step},
    {&operator_id<op::Gemm>, gemm_step},
    {&operator_id<op::Einsum>, einsum_step},
};

}  // namespace tenon::TENON_ABI::gradients

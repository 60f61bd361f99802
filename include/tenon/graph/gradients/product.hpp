// Derivatives of matrix products.
#pragma once

#include "tenon/graph/gradients/step.hpp"
#include "tenon/op/math/einsum.hpp"
#include "tenon/op/math/gemm.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/tensor/transpose.hpp"

namespace tenon::gradients {

inline Term mat_mul(Term a, Term b) { return a.writer->add(op::MatMul{}, {a, b}); }
/// Matrices with rows and columns exchanged.
inline Term transposed(Term x, int rank) {
  op::Transpose t;
  for (int k = 0; k < rank; ++k) t.perm.push_back(k);
  std::swap(t.perm[rank - 2], t.perm[rank - 1]);
  return x.writer->add(t, {x});
}
inline void mat_mul_step(Step& s) {
  int rank_a = s.rank(s.x(0)), rank_b = s.rank(s.x(1));
  Term a = s.x(0), b = s.x(1), g = s.g();
  // A vector is a row on the left and a column on the right.
  if (rank_b == 1) b = unsqueeze(b, {1}), g = unsqueeze(g, {-1}), rank_b = 2;
  if (rank_a == 1) a = unsqueeze(a, {0}), g = unsqueeze(g, {-2}), rank_a = 2;
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

/// The derivative with respect to an operand is the product of the others and g, with the operand's labels
/// for the result. A label that only the operand has is one along which it is summed.
inline void einsum_step(Step& s) {
  std::string equation;
  for (char c : s.op<op::Einsum>().equation.value_or(std::string()))
    if (c != ' ') equation += c;
  if (equation.find('.') != std::string::npos) s.refuse("no derivative of Einsum with an ellipsis");
  const std::size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::vector<std::string> labels(1);
  for (char c : left)
    if (c == ',') labels.emplace_back();
    else labels.back() += c;
  std::string result;
  if (arrow != std::string::npos) result = equation.substr(arrow + 2);
  else
    for (char c = 'A'; c <= 'z'; ++c)
      if (std::count(left.begin(), left.end(), c) == 1) result += c;
  for (int k = 0; k < s.inputs(); ++k) {
    if (!s.wants(k)) continue;
    const std::string& own = labels[static_cast<std::size_t>(k)];
    std::string from = result, present;
    std::vector<Term> in{s.g()};
    for (int j = 0; j < s.inputs(); ++j) {
      if (j == k) continue;
      from += concat(",", labels[static_cast<std::size_t>(j)]);
      in.push_back(s.x(j));
    }
    std::vector<int64_t> summed;
    for (std::size_t c = 0; c < own.size(); ++c) {
      if (own.find(own[c]) != c) s.refuse("no derivative of Einsum with a diagonal, '", own, "'");
      if (from.find(own[c]) == std::string::npos) summed.push_back(static_cast<int64_t>(c));
      else present += own[c];
    }
    op::Einsum back;
    back.equation = concat(from, "->", present);
    Term d = s.w.add_node(back, in, 1)[0];
    if (!summed.empty()) d = s.w.add(op::Unsqueeze{}, {d, s.w.integers(summed)});
    // An extent 1 of the operand stretches to that of the label.
    s.give_summed(k, expand(d, shape(s.x(k))));
  }
}

inline constexpr Rule product_rules[] = {
    {&op::MatMul::spec, mat_mul_step},
    {&op::Gemm::spec, gemm_step},
    {&op::Einsum::spec, einsum_step},
};

}  // namespace tenon::gradients

#include "tests/graph/gradients/check.hpp"

namespace tenon::test {

void check_einsum(const char* equation, const std::vector<Given>& given) {
  CAPTURE(std::string(equation));
  check_op(op::Einsum{.equation = equation}, given);
}

TEST_CASE("Einsum: sums of products, and extents 1 that stretch") {
  check_einsum("bij,bjk->ik", {reals({2, 2, 3}), reals({2, 3, 2})});
  check_einsum("ij", {reals({2, 3})});
  check_einsum("ij,k->i", {reals({2, 3}), reals({2})});
  check_einsum("ij,ij->i", {reals({2, 1}), reals({2, 3})});
  check_einsum("ij, jk", {reals({2, 3}), reals({1, 2})});
  check_einsum("ij,jk->ik", {reals({2, 0}), reals({0, 3})});
}

TEST_CASE("Einsum: ellipses") {
  check_einsum("...ij,...jk->...ik", {reals({2, 2, 3}), reals({2, 3, 2})});
  check_einsum("...ij,...jk", {reals({1, 2, 2, 3}), reals({3, 1, 3, 1})});
  check_einsum("i...,...j->j...i", {reals({2, 1}), reals({3, 2})});
  check_einsum("...i,...i->...i", {reals({3}), reals({3})});
  check_einsum("a...b,bc->...", {reals({2, 3, 2}), reals({2, 2})});
  check_einsum("a...b, c -> c", {reals({2, 3, 1, 2}), reals({2})});
  check_einsum("...->", {reals({2, 3})});
  check_einsum("i...,i", {reals({2, 0}), reals({2})});
}

TEST_CASE("Einsum: diagonals") {
  check_einsum("ii->i", {reals({3, 3})});
  check_einsum("ii", {reals({3, 3})});
  check_einsum("iji", {reals({2, 3, 2})});
  check_einsum("iii,ij->j", {reals({2, 2, 2}), reals({2, 3})});
  check_einsum("jiij->ij", {reals({2, 3, 3, 2})});
  check_einsum("ii,i->i", {reals({1, 1}), reals({3})});
  check_einsum("ii,i->i", {reals({3, 3}), reals({1})});
  check_einsum("ii,jj->", {reals({2, 2}), reals({3, 3})});
  check_einsum("ii->i", {reals({0, 0})});
  check_einsum("i...i->...i", {reals({2, 3, 2})});
  check_einsum("...ii,...->i...", {reals({2, 3, 3}), reals({1})});
  check_einsum("ii...jj,j->", {reals({2, 2, 1, 2, 2}), reals({2})});
}

TEST_CASE("Einsum: several operands, scalars, labels of one operand alone, spaces and capitals") {
  check_einsum("ij,jk,kl->il", {reals({2, 3}), reals({3, 2}), reals({2, 1})});
  check_einsum(" bA , A c -> b c", {reals({2, 3}), reals({3, 2})});
  check_einsum("bA,Ac", {reals({2, 3}), reals({3, 2})});
  check_einsum(",i, ->i", {reals({}), reals({2}), reals({})});
  check_einsum("ij,kj,jl->", {reals({2, 3}), reals({2, 3}), reals({1, 2})});
}

TEST_CASE("Second derivatives of Einsum") {
  const auto twice = [](const char* equation, const std::vector<Given>& given) {
    CAPTURE(std::string(equation));
    check_twice(op::Einsum{.equation = equation}, given);
  };
  twice("ii,ij->j", {reals({2, 2}), reals({2, 2})});
  twice("...ij,...j->i", {reals({2, 2, 2}), reals({1, 2})});
}

}  // namespace tenon::test

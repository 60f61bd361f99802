#include "tenon/op/math/einsum.hpp"

#include <map>

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

namespace {
op::Einsum einsum(const char* equation) { return {.equation = std::string(equation)}; }

/// Small whole numbers, the same for the same extents and seed.
Value numbers(DType d, const Extents& extents, int64_t seed = 1) {
  Tensor<double> x{std::span<const int64_t>(extents)};
  for (int64_t k = 0; k < x.size(); ++k) x[k] = static_cast<double>((k * 7 + seed * 5) % 11 - 5);
  AnyTensor t = AnyTensor::uninitialized(d, extents);
  convert_n(d, t.out().data(), DType::float64, x.data(), x.size());
  return t;
}

/// The definition: a loop over all letters of an equation with "->" and without "...".
Value by_definition(std::string_view equation, const std::vector<Value>& in) {
  const std::size_t arrow = equation.find("->");
  std::vector<std::string> terms{""};
  for (char c : equation.substr(0, arrow)) {
    if (c == ',') terms.emplace_back();
    else terms.back() += c;
  }
  const std::string_view result = equation.substr(arrow + 2);
  std::map<char, int64_t> extents, index;
  for (std::size_t k = 0; k < terms.size(); ++k)
    for (std::size_t d = 0; d < terms[k].size(); ++d)
      extents[terms[k][d]] = std::max(extents[terms[k][d]], in[k].tensor().extents()[d]);
  Extents shape;
  for (char c : result) shape.push_back(extents[c]);
  Tensor<double> y{std::span<const int64_t>(shape)};
  std::fill(y.begin(), y.end(), 0);
  int64_t total = 1;
  for (auto [c, e] : extents) total *= e;
  for (int64_t n = 0; n < total; ++n) {
    int64_t rest = n, at = 0;
    for (auto [c, e] : extents) index[c] = rest % e, rest /= e;
    double product = 1;
    for (std::size_t k = 0; k < terms.size(); ++k) {
      const AnyTensor& x = in[k].tensor();
      int64_t place = 0;
      for (std::size_t d = 0; d < terms[k].size(); ++d)
        place = place * x.extents()[d] + (x.extents()[d] == 1 ? 0 : index[terms[k][d]]);
      product *= as_double(x.view(), place);
    }
    for (char c : result) at = at * extents[c] + index[c];
    y[at] += product;
  }
  return y;
}
}  // namespace

TEST_CASE("Einsum: against the definition") {
  const WithThreads threads;
  const struct {
    const char* equation;
    std::vector<Extents> in;
  } rows[] = {
      {"ij->ji", {{2, 3}}},
      {"ij->", {{2, 3}}},
      {"ij->j", {{2, 3}}},
      {"ii->i", {{3, 3}}},
      {"ii->", {{3, 3}}},
      {"iji->j", {{3, 2, 3}}},
      {"i,i->", {{4}, {4}}},
      {"i,j->ij", {{4}, {3}}},
      {"i,j->ji", {{4}, {3}}},
      {"ij,jk->ik", {{5, 6}, {6, 7}}},
      {"ij,jk->ki", {{5, 6}, {6, 7}}},
      {"ji,kj->ik", {{6, 5}, {7, 6}}},
      {"bij,bjk->bik", {{3, 5, 6}, {3, 6, 7}}},
      {"bij,jk->ibk", {{3, 5, 6}, {6, 7}}},
      {"bhid,bhjd->bhij", {{2, 3, 5, 4}, {2, 3, 6, 4}}},
      {"bihd,bjhd->bhij", {{2, 5, 3, 4}, {2, 6, 3, 4}}},
      {"abcd,cbe->aed", {{2, 3, 4, 5}, {4, 3, 6}}},
      {"ij,ij->ij", {{5, 6}, {5, 6}}},
      {"ij,ji->ij", {{5, 6}, {6, 5}}},
      {"ij,ij->i", {{5, 6}, {5, 6}}},
      {"ij,ij->", {{5, 6}, {5, 6}}},
      {"ij,j->i", {{5, 6}, {6}}},
      {"i,ij->j", {{5}, {5, 6}}},
      {"ij,kl->", {{2, 3}, {4, 5}}},
      {"ij,kl->lj", {{2, 3}, {4, 5}}},
      {"ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 5}}},
      {"ij,jk,kl,lm->mi", {{9, 3}, {3, 4}, {4, 5}, {5, 2}}},
      {"ij,ik,il->jkl", {{2, 3}, {2, 4}, {2, 5}}},
      {"bn,anm,bm->ba", {{2, 3}, {4, 3, 5}, {2, 5}}},
      {"iij,jj->i", {{3, 3, 2}, {2, 2}}},
      {"ij,jk->ik", {{5, 1}, {6, 7}}},
      {"ij,ij->ij", {{5, 6}, {1, 6}}},
      {"ij,ij->", {{5, 1}, {1, 6}}},
      {"ij,jk->ik", {{1, 1}, {1, 1}}},
      {"aB,Bc->ca", {{2, 3}, {3, 4}}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.equation);
    for (DType d : {DType::float32, DType::float64, DType::int64, DType::int8}) {
      std::vector<Value> in;
      for (const Extents& e : row.in) in.push_back(numbers(d, e, static_cast<int64_t>(in.size()) + 1));
      const Value expected = by_definition(row.equation, in);
      AnyTensor y = AnyTensor::uninitialized(d, expected.tensor().extents());
      Tensor<int64_t> whole{expected.tensor().extents()};  // so that int8 wraps
      convert_n(DType::int64, whole.data(), DType::float64, expected.tensor().data(), whole.size());
      convert_n(d, y.out().data(), DType::int64, whole.data(), whole.size());
      check(einsum(row.equation), in, {Value(std::move(y))});
    }
  }
}

TEST_CASE("Einsum: every type") {
  for_types(op::Einsum::spec.types[0], [&](DType d) {
    check(einsum("ij,jk->ik"), {cast(d, {2, 2}, {1, 2, 3, 4}), cast(d, {2, 1}, {5, 6})},
          {cast(d, {2, 1}, {17, 39})});
    check(einsum("i->"), {cast(d, {2}, {1, 2})}, {cast(d, {}, {3})});
    check(einsum("ij->ji"), {cast(d, {2, 2}, {1, 2, 3, 4})}, {cast(d, {2, 2}, {1, 3, 2, 4})});
  });
  check(einsum("i,i->"), {t<uint8_t>({2}, {100, 100}), t<uint8_t>({2}, {3, 3})}, {t<uint8_t>({}, {88})});
}

TEST_CASE("Einsum: forms of equations") {
  const Value a = numbers(DType::float32, {2, 3}), b = numbers(DType::float32, {3, 4}, 2);
  const Value c = numbers(DType::float32, {2, 5, 3, 4}, 3), d = numbers(DType::float32, {1, 5, 4, 2}, 4);
  const Value product = by_definition("ij,jk->ik", {a, b});
  const auto as_float = [](const Value& v) {
    AnyTensor y = AnyTensor::uninitialized(DType::float32, v.tensor().extents());
    convert_n(DType::float32, y.out().data(), DType::float64, v.tensor().data(), y.size());
    return Value(std::move(y));
  };
  const Value matmul = as_float(by_definition("abij,abjk->abik", {c, d}));
  check(einsum("ij,jk"), {a, b}, {as_float(product)});
  check(einsum(" i j , jk -> ik "), {a, b}, {as_float(product)});
  check(einsum("ji"), {a}, {as_float(by_definition("ij->ji", {a}))});
  check(einsum("Ab"), {a}, {a});
  check(einsum("bA"), {a}, {as_float(by_definition("ij->ji", {a}))});
  check(einsum("...ij,...jk->...ik"), {c, d}, {matmul});
  check(einsum("...ij,...jk"), {c, d}, {matmul});
  check(einsum("...ij,jk->...ik"), {c, numbers(DType::float32, {4, 2}, 4)},
        {as_float(by_definition("abij,jk->abik", {c, numbers(DType::float32, {4, 2}, 4)}))});
  check(einsum("i...->...i"), {c}, {as_float(by_definition("iabc->abci", {c}))});
  check(einsum("i...j->..."), {c}, {as_float(by_definition("iabj->ab", {c}))});
  check(einsum("...->"), {a}, {as_float(by_definition("ij->", {a}))});
  check(einsum("..."), {a}, {a});
  check(einsum("...ii->...i"), {numbers(DType::float32, {2, 3, 3})},
        {as_float(by_definition("aii->ai", {numbers(DType::float32, {2, 3, 3})}))});
  check(einsum(""), {t<float>({}, {3})}, {t<float>({}, {3})});
  check(einsum(",->"), {t<float>({}, {3}), t<float>({}, {4})}, {t<float>({}, {12})});
  check(einsum("ij,jk->ik"), {t<float>({2, 0}, {}), t<float>({0, 1}, {})}, {t<float>({2, 1}, {0, 0})});
  check(einsum("ij,jk->ik"), {t<float>({0, 2}, {}), t<float>({2, 1}, {1, 2})}, {t<float>({0, 1}, {})});
  check(stated<op::Einsum>(12, {{"equation", std::string("ij,jk")}}), {a, b}, {as_float(product)});
  std::string many = "a";
  for (int k = 1; k < 40; ++k) many += ",a";
  check(einsum((many + "->a").c_str()), std::vector<Value>(40, t<float>({2}, {1, 2})),
        {t<float>({2}, {1, 0x1p40f})});
  const float nan = std::nanf("");
  check(einsum("ij,j->i"), {t<float>({2, 1}, {nan, 1}), t<float>({1}, {2})}, {t<float>({2}, {nan, 2})});
}

TEST_CASE("Einsum: errors") {
  const Value a = numbers(DType::float32, {2, 3});
  const auto fails = [](const std::string& equation, const std::vector<Value>& in, std::string_view text) {
    CAPTURE(equation);
    check_fails(einsum(equation.c_str()), in, text);
  };
  fails("ij,jk", {a}, "the equation has 2 terms for 1 operands");
  fails("ij", {a, a}, "the equation has 1 terms for 2 operands");
  fails(std::string(1 << 20, ','), {a}, "the equation has 1048577 terms for 1 operands");
  fails("ijk", {a}, "operand 0 has rank 2 for a term of 3 labels");
  fails("ijk...", {a}, "operand 0 has rank 2 for a term of 3 labels");
  fails("i", {a}, "operand 0 has rank 2 for a term of 1 labels");
  fails("i1", {a}, "not understood at character 1");
  fails("i..", {a}, "not understood at character 1");
  fails("...i...", {a}, "not understood at character 4");
  fails("ij-ij", {a}, "not understood at character 2");
  fails("ij->i,j", {a}, "not understood at character 5");
  fails("ij->ij->", {a}, "not understood");
  fails("ij->ik", {a}, "the result has a label that no operand has");
  fails("ij->ii", {a}, "the result has a label twice");
  fails("ii", {a}, "extents of a diagonal differ: 2 and 3");
  fails("ij,jk", {a, a}, "do not broadcast");
  fails("...i,...", {a, a}, "the ellipsis covers 1 axes, and 2");
  fails("abcdefghijklmnopq", {a}, "not understood");
  check_fails(op::Einsum{}, {a}, "rank 2 for a term of 0 labels");
  check_refused<op::Einsum>(12, {}, "equation");
}

TEST_CASE("Einsum: symbols, typed") {
  const auto n = Dim::symbol(1);
  const auto f = DType::float32;
  CHECK(infer(einsum("bij,bjk->bik"), {info(f, {n, 2, 3}), info(f, {n, 3, 4})})[0].dims == Dims{n, 2, 4});
  CHECK(infer(einsum("...ij,...jk"), {info(f, {5, n, 2, 3}), info(f, {5, 1, 3, 4})})[0].dims ==
        Dims{5, n, 2, 4});
  CHECK(infer(einsum("ij,jk"), {info(f, {}), info(f, {3, 4})})[0].dims == Dims{Dim(), 4});
  CHECK_FALSE(infer(einsum("...ij,jk"), {info(f, {}), info(f, {3, 4})})[0].dims.ranked());
  const auto m = Dim::symbol(2);
  CHECK(infer(einsum("ii->i"), {info(f, {n, m})})[0].dims == Dims{n});
  CHECK(infer(einsum("ii->i"), {info(f, {n, 3})})[0].dims == Dims{3});
  auto y = einsum("ij,jk")(Tensor<float, Shape<2, 2>>{{{1, 2}, {3, 4}}},
                           Tensor<float, Shape<2, 2>>{{{1, 0}, {0, 1}}});
  CHECK(y[3] == 4);
}
}  // namespace tenon

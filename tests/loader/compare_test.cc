// Where two runs part: how values differ, which of two graphs' values are compared, and in what order.
#include "loader/compare.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tenon/graph/passes.hpp"
#include "tenon/model.hpp"

namespace tenon {
namespace {

using loader::compare;
using loader::CompareOptions;
using loader::ValueDifference;

constexpr float infinity = std::numeric_limits<float>::infinity(),
                nan = std::numeric_limits<float>::quiet_NaN();

template <class T>
Value vector(std::vector<T> elements) {
  Tensor<T> t(Extents{static_cast<int64_t>(elements.size())});
  std::ranges::copy(elements, t.data());
  return t;
}

Session session(const std::string& body, SessionOptions options = {}) {
  return Session(parse_text(str_cat("<ir_version: 10, opset_import: [\"\" : 21]> ", body)).graph(),
                 std::move(options));
}
std::vector<std::string> names(const std::vector<ValueDifference>& all) {
  std::vector<std::string> list;
  for (const ValueDifference& d : all) list.push_back(d.name + (d.within() ? "" : "!"));
  return list;
}

}  // namespace

TEST_CASE("values differ by so much") {
  const Tolerance exact, loose{.rtol = 1e-3, .atol = 1e-5};
  const struct {
    Value first, second;
    Tolerance tolerance;
    int64_t differing, ulp;
    double absolute;
    std::string_view reason;
  } cases[] = {
      {vector<float>({1, 2}), vector<float>({1, 2}), exact, 0, 0, 0, ""},
      {vector<float>({1, std::nextafter(2.f, 3.f)}), vector<float>({1, 2}), loose, 0, 1, 0x1p-22, ""},
      {vector<float>({1, std::nextafter(2.f, 3.f)}), vector<float>({1, 2}), exact, 1, 1, 0x1p-22,
       "1 of 2 elements, the worst at (1): 2.0 instead of 2.0000002"},
      {vector<float>({0.f}), vector<float>({-0.f}), exact, 0, 0, 0, ""},
      {vector<float>({std::numeric_limits<float>::denorm_min()}),
       vector<float>({-std::numeric_limits<float>::denorm_min()}), loose, 0, 2, 0x1p-148, ""},
      {vector<float>({nan, infinity}), vector<float>({nan, infinity}), exact, 0, 0, 0, ""},
      {vector<float>({0, 7, 5}), vector<float>({9, infinity, nan}), loose, 3, 1091567616, 9,
       "3 of 3 elements, the worst at (1): inf instead of 7.0"},
      {vector<double>({1}), vector<double>({1 + 0x1p-52}), loose, 0, 1, 0x1p-52, ""},
      {vector<float16>({float16(1.f)}), vector<float16>({float16(1.f + 0x1p-10f)}), exact, 1, 1, 0x1p-10,
       "1 of 1 elements, the worst at (0): 1.001 instead of 1.0"},
      {vector<int64_t>({1, 5}), vector<int64_t>({1, 7}), loose, 1, 0, 2,
       "1 of 2 elements, the worst at (1): 7 instead of 5"},
      {vector<std::string>({"a"}), vector<std::string>({"b"}), loose, 1, 0, 0,
       "1 of 1 elements, the worst at (0): \"b\" instead of \"a\""},
      {vector<float>({1}), vector<float>({1, 2}), loose, 0, 0, 0, "extents (2) instead of (1)"},
      {vector<float>({1}), vector<double>({1}), loose, 0, 0, 0, "tensor(double) instead of tensor(float)"},
      {vector<float>({}), vector<float>({}), loose, 0, 0, 0, ""},
      {Sequence{DType::float32, {vector<float>({1})}}, Sequence{DType::float32, {vector<float>({2})}}, loose,
       0, 0, 0, "item 0: 1 of 1 elements differ, first at (0): 2.0 instead of 1.0"},
  };
  for (const auto& c : cases) {
    const ValueDifference d = compare(c.first, c.second, c.tolerance);
    CAPTURE(to_string(c.first));
    CAPTURE(to_string(c.second));
    CHECK(d.differing == c.differing);
    CHECK(d.ulp == c.ulp);
    CHECK(d.absolute == c.absolute);
    CHECK(d.reason == c.reason);
    CHECK(d.within() == c.reason.empty());
  }
}

TEST_CASE("the first value that differs is named, with its node") {
  const std::string text = R"(g (float[2] x) => (float[2] y, float[2] early)
      { early = Neg (x)  s = Mul (x, early)  [shift] t = Add (s, c) k = Constant <value = float {2}> ()
        y = Mul (t, k) })";
  const auto with = [&](std::string_view c) {
    std::string whole = text;
    whole.insert(whole.find("{ early"), str_cat("<float[2] c = {", c, "}> "));
    return whole;
  };
  const Session a = session(with("1, 1")), b = session(with("1, 1.5"));
  const Value x = vector<float>({1, 2});
  auto all = compare(a, b, {{"x", x}}, {{"x", x}});
  CHECK(names(all) == std::vector<std::string>{"early", "s", "t!", "k", "y!"});
  CHECK(all[2].node == "node 'shift' (Add-14)");
  CHECK(all[2].type == "tensor(float) (2)");
  CHECK(all[2].elements == 2);
  CHECK(all[2].absolute == 0.5);
  CHECK(all[2].reason == "1 of 2 elements, the worst at (1): -2.5 instead of -3.0");
  all = compare(a, b, {{"x", x}}, {{"x", x}}, {.tolerance = {.rtol = 0, .atol = 2}});
  CHECK(names(all) == std::vector<std::string>{"early", "s", "t", "k", "y"});

  // Outputs of other names are matched by position, and what only one graph has is not compared.
  const Session c =
      session("h (float[2] z) => (float[2] out, float[2] other) { other = Neg (z) out = Abs (other) }");
  all = compare(a, c, {{"x", x}}, {{"z", x}});
  CHECK(names(all) == std::vector<std::string>{"y!", "early"});
  const Session nothing = session("h (float[2] z) => () { u = Neg (z) }");
  CHECK_THROWS_WITH_AS(compare(a, nothing, {{"x", x}}, {{"z", x}}),
                       "compare: the graphs have no value in common", Error);
}

TEST_CASE("values that a pass fuses away are left out if asked") {
  const std::string text =
      "g (float[N] x) => (float[N] y) { a = Neg (x) b = Exp (a) c = Add (b, x) y = Sqrt (c) }";
  const Session plain = session(text), fused = session(text, {.passes = standard_passes()});
  const Value x = vector<float>(std::vector<float>(64, .5f));
  CHECK(names(compare(plain, fused, {{"x", x}}, {{"x", x}})) == std::vector<std::string>{"a", "b", "c", "y"});
  const auto some = compare(plain, fused, {{"x", x}}, {{"x", x}}, {.computed_only = true});
  CHECK(some.size() < 4);
  CHECK(some.back().name == "y");
  CHECK(some.back().within());

  // The first of several differences is found all the same.
  const std::string other =
      "g (float[N] x) => (float[N] y) { a = Neg (x) b = Exp (x) c = Add (b, x) y = Sqrt (c) }";
  const auto hidden = compare(session(text), session(other, {.passes = standard_passes()}), {{"x", x}},
                              {{"x", x}}, {.computed_only = true});
  REQUIRE(!hidden.empty());
  CHECK(std::ranges::find_if(hidden, [](const auto& d) { return !d.within(); })->name == "b");
}

}  // namespace tenon

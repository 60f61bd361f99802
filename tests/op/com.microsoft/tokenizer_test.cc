// Expected are ONNX Runtime's results.
#include "tenon/op/com.microsoft/tokenizer.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using op::com_microsoft::Tokenizer;

namespace {

using strings = std::vector<std::string>;

Value text(const Extents& extents, const strings& values) {
  return Tensor<std::string>(extents, std::span<const std::string>(values));
}

Tokenizer separated(strings separators, int64_t mark = 0, int64_t shortest = 1) {
  return {.mark = mark, .mincharnum = shortest, .pad_value = "#", .separators = std::move(separators)};
}
Tokenizer matching(std::string expression, int64_t mark = 0, int64_t shortest = 1) {
  return {.mark = mark, .mincharnum = shortest, .pad_value = "#", .tokenexp = std::move(expression)};
}

}  // namespace

TEST_CASE("com.microsoft.Tokenizer: cases") {
  struct Row {
    Tokenizer op;
    strings x;
    int64_t length;
    strings y;
  } rows[] = {
      {separated({" "}), {"Hello World", "I love it"}, 3, {"Hello", "World", "#", "I", "love", "it"}},
      {separated({" "}, 1), {"a b", "I  d "}, 4, {"\x02", "a", "b", "\x03", "\x02", "I", "d", "\x03"}},
      {separated({" "}), {"a  b", " c"}, 2, {"a", "b", "c", "#"}},
      {separated({" "}, 1), {"", " "}, 0, {}},
      {separated({";", ","}), {"a;b,c;;d"}, 4, {"a", "b", "c", "d"}},
      {separated({"[;,]"}, 0, 2), {"ab;b,cc;;d"}, 2, {"ab", "cc"}},
      {separated({" ", ","}, 0, 2), {"éa é,ab"}, 2, {"éa", "ab"}},
      {separated({"^x"}), {"xx yy"}, 1, {"x yy"}},
      {separated({"(?i)B"}), {"A b"}, 1, {"A "}},
      // An empty match cuts too.
      {separated({"X*"}), {"aXbXXc"}, 0, {}},
      {separated({"", "b"}), {"a", "b"}, 0, {}},
      {separated({"X*"}), {""}, 0, {}},
      // Single code points, however short.
      {separated({""}, 0, 2), {"abc", "dé", ""}, 3, {"a", "b", "c", "d", "é", "#", "#", "#", "#"}},
      {separated({""}, 1), {"é", ""}, 3, {"\x02", "é", "\x03", "\x02", "\x03", "#"}},
      {separated({""}, 1), {"", ""}, 0, {}},
      {matching("[a-z0-9]+"), {"on 1 mat"}, 3, {"on", "1", "mat"}},
      {matching("[a-z0-9]+", 0, 2), {"on 1 mat"}, 2, {"on", "mat"}},
      {matching("a*"), {"aab ab b"}, 2, {"aa", "a"}},
      {matching("a|ab"), {"abab"}, 2, {"ab", "ab"}},
      {matching("ab|bcd", 0, 3), {"abcd"}, 1, {"bcd"}},
      {matching("^a"), {"aaa"}, 1, {"a"}},
      {matching("é"), {"aé bé"}, 2, {"é", "é"}},
      {matching("[a-z]", 1), {"x y", ""}, 4, {"\x02", "x", "y", "\x03", "\x02", "\x03", "#", "#"}},
      {matching("a*"), {"", ""}, 0, {}},
  };
  for (const Row& row : rows) {
    const auto count = static_cast<int64_t>(row.x.size());
    check(row.op, {text({count}, row.x)}, {text({count, row.length}, row.y)});
    check(row.op, {text({1, count}, row.x)}, {text({1, count, row.length}, row.y)});
  }
  Tokenizer both = separated({"a"});
  both.tokenexp = "[a-z]";
  check(both, {text({1}, {"x"})}, {text({1, 1}, {"x"})});
  both.separators = strings{};
  check(both, {text({1}, {"x"})}, {text({1, 1}, {"x"})});
  check(matching("a", 1), {text({0}, {})}, {text({0}, {})});
  check(matching("a", 1), {text({2, 0}, {})}, {text({2, 0}, {})});
  check(separated({""}), {text({0, 2}, {})}, {text({0, 0}, {})});
}

TEST_CASE("com.microsoft.Tokenizer: refused, symbols, called") {
  const Value x = text({2}, {"a", "b"});
  check_fails(separated({"("}), {x}, "expression '(': missing )");
  check_fails(matching("*"), {x}, "expression '*': no argument for repetition operator");
  check_fails(separated({"a"}, 0, 0), {x}, "mincharnum");
  check_fails(matching(""), {x}, "neither separators nor a tokenexp are stated");
  check_fails(separated({}), {x}, "neither separators nor a tokenexp are stated");
  check_fails(matching("a"), {text({}, {"a"})}, "X: rank 0, expected 1 or 2");
  check_fails(matching("a"), {text({1, 1, 1}, {"a"})}, "X: rank 3, expected 1 or 2");
  for (const Tokenizer& op : {matching("a"), separated({"a"}), separated({""})})
    check_fails(op, {text({2}, {"a", "\xFF"})}, "element 1 is not UTF-8");

  const auto dims = [](const Dims& d) { return infer(matching("a"), {info(DType::string, d)})[0].dims; };
  CHECK(dims({3, 2}) == Dims{3, 2, Dim()});
  CHECK(dims({3, 0}) == Dims{3, 0});
  CHECK(dims({0}) == Dims{0});
  CHECK_FALSE(dims({Dim::symbol(1)}).ranked());
  const Value y = matching("[a-z]+")(Tensor<std::string, Shape<2>>{"to be", "or"});
  CHECK(y.tensor().extents() == Extents{2, 2});
  CHECK(y.view<std::string>()[1] == "be");
  CHECK(y.view<std::string>()[3] == "#");
}
}  // namespace tenon

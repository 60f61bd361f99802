#include "tenon/op/text/regex_full_match.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using R = op::RegexFullMatch;

TEST_CASE("RegexFullMatch: cases") {
  struct Row {
    const char *pattern, *x;
    bool y;
  } rows[] = {
      {"a+", "aaa", true},
      {"a+", "aab", false},
      {"a+", "baa", false},
      {"", "", true},
      {"", "a", false},
      {"a|ab", "ab", true},
      {"(?i)ÄB", "äb", true},
      {".", "中", true},
      {"..", "中", false},
      {"\\p{Greek}+", "αβγ", true},
      {".", "\n", false},
      {"(?s).", "\n", true},
      {"^a$", "a", true},
      {R"((\W|^)[\w.\-]{0,25}@(yahoo|gmail)\.com(\W|$))", "account@gmail.com", true},
      {R"((\W|^)[\w.\-]{0,25}@(yahoo|gmail)\.com(\W|$))", "not email", false},
      {"(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.pattern);
    check(R{.pattern = row.pattern}, {t<std::string>({}, {row.x})}, {t<bool>({}, {row.y})});
  }
  check(R{.pattern = "b"}, {t<std::string>({2, 2}, {"a", "b", "b", "bb"})},
        {t<bool>({2, 2}, {false, true, true, false})});
  check(R{.pattern = "b"}, {t<std::string>({2, 0}, {})}, {t<bool>({2, 0}, {})});
  check(R{}, {t<std::string>({2}, {"", "a"})}, {t<bool>({2}, {true, false})});
  const Value nul = t<std::string>({2}, {std::string("a\0b", 3), "a"});
  check(R{.pattern = "a"}, {nul}, {t<bool>({2}, {false, true})});
}

TEST_CASE("RegexFullMatch: errors") {
  const Value x = t<std::string>({1}, {"a"});
  check_fails(R{.pattern = "(a"}, {x}, "pattern '(a': missing )");
  check_fails(R{.pattern = "[z-a]"}, {x}, "invalid character class range");
  check_fails(R{.pattern = "*"}, {x}, "no argument for repetition operator");
  check_fails(R{.pattern = "(?=a)"}, {x}, "invalid perl operator");
  check_fails(R{.pattern = "(a)\\1"}, {x}, "invalid escape sequence");
  check_fails(R{.pattern = "((a{100}){100}){100}"}, {x}, "pattern '((a");
  check_fails(R{.pattern = "\xFF"}, {x}, "invalid UTF-8");
  check_fails(R{.pattern = "."}, {t<std::string>({2}, {"a", "\xFF"})}, "element 1 is not UTF-8");
  check_fails(R{.pattern = "."}, {t<int64_t>({1}, {1})}, "input X cannot be tensor(int64)");
}

TEST_CASE("RegexFullMatch: symbols, called") {
  const auto n = Dim::symbol(1);
  const auto out = infer(R{}, {info(DType::string, {n, 2})});
  CHECK(out[0].dims == Dims{n, 2});
  CHECK(out[0].type == Type(DType::bool_));
  const Tensor<bool> y = R{.pattern = "a."}(Tensor<std::string, Shape<2>>{"ab", "b"});
  CHECK(y[0]);
  CHECK_FALSE(y[1]);
}
}  // namespace tenon

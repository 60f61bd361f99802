#include "tenon/op/text/string_normalizer.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using N = op::StringNormalizer;
using strings = std::vector<std::string>;

namespace {
Value text(const Extents& extents, const strings& values) {
  return Tensor<std::string>(extents, std::span<const std::string>(values));
}
}  // namespace

TEST_CASE("StringNormalizer: stop words and case") {
  struct Row {
    N op;
    strings x, y;
  } rows[] = {
      {{}, {"a", "B", ""}, {"a", "B", ""}},
      {{.case_change_action = "LOWER"}, {"aBc", "ЖÉ", "中文"}, {"abc", "жé", "中文"}},
      {{.case_change_action = "UPPER"}, {"grüßen", "ÿ", "éñ"}, {"GRÜßEN", "Ÿ", "ÉÑ"}},
      {{.case_change_action = "UPPER"}, {"ǆ", "ᾀ", "𐐨", "ꭰ"}, {"Ǆ", "ᾈ", "𐐀", "Ꭰ"}},
      {{.case_change_action = "LOWER"}, {"İ", "ẞ", "Σ", "Ā", "ā"}, {"i", "ß", "σ", "ā", "ā"}},
      {{.is_case_sensitive = 1, .stopwords = {"a"}}, {"a", "A", "ab"}, {"A", "ab"}},
      {{.stopwords = {"ÉA"}}, {"éa", "Éa", "ea"}, {"ea"}},
      {{.stopwords = {"b", "A", "b"}}, {"a", "B", "C", "b"}, {"C"}},
      // Case-sensitive words are found before the case changes.
      {{.case_change_action = "UPPER", .is_case_sensitive = 1, .stopwords = {"a"}}, {"a", "A"}, {"A"}},
      {{.case_change_action = "UPPER", .is_case_sensitive = 1, .stopwords = {"A"}}, {"a"}, {"A"}},
      {{.case_change_action = "UPPER", .stopwords = {"a"}}, {"a", "A", "b"}, {"B"}},
      {{.case_change_action = "LOWER", .stopwords = {"A"}}, {"a", "A", "B"}, {"b"}},
      {{.stopwords = {"a"}}, {"A", "a"}, {""}},
      {{.stopwords = {""}}, {"", "a"}, {"a"}},
      {{}, {}, {""}},
      {{.case_change_action = "UPPER", .locale = "tr_TR.UTF-8"}, {"iı"}, {"İI"}},
      {{.case_change_action = "LOWER", .locale = "az"}, {"Iİ"}, {"ıi"}},
      {{.case_change_action = "UPPER", .locale = "de-DE"}, {"i"}, {"I"}},
  };
  for (const Row& row : rows) {
    const int64_t from = std::ssize(row.x), to = std::ssize(row.y);
    check(row.op, {text({from}, row.x)}, {text({to}, row.y)});
    check(row.op, {text({1, from}, row.x)}, {text({1, to}, row.y)});
  }
}

TEST_CASE("StringNormalizer: locales") {
  const auto upper = [](const char* locale) { return N{.case_change_action = "UPPER", .locale = locale}; };
  for (const char* known : {"", "C", "POSIX", "C.UTF-8", "en_US", "en-US", "en_US.UTF-8", "en", "ru_RU.utf8",
                            "sr_RS@latin", "zh-Hant-TW", "ckb_IQ", "es-419"})
    check(upper(known), {text({1}, {"a"})}, {text({1}, {"A"})});
  for (const char* unknown : {"qq", "nowhere", "en_", "en_US_US", "en_USA", "en_US.ISO-8859-1", "_US", "e",
                              " en", "en US", "EN_us.UTF-16", "-", "en_\xFF\xFF"})
    check_fails(upper(unknown), {text({1}, {"a"})}, "is not known");
  check_fails(N{.locale = "qq", .stopwords = {"a"}}, {text({1}, {"a"})}, "locale 'qq' is not known");
  // Where no case counts, the locale does not either.
  check(N{.locale = "qq"}, {text({1}, {"a"})}, {text({1}, {"a"})});
  check(N{.is_case_sensitive = 1, .locale = "qq", .stopwords = {"b"}}, {text({1}, {"a"})},
        {text({1}, {"a"})});
}

TEST_CASE("StringNormalizer: errors") {
  const N upper{.case_change_action = "UPPER"};
  for (const char* bad :
       {"\xFF", "a\x80", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"})
    for (const N& op : {upper, N{}, N{.is_case_sensitive = 1, .stopwords = {"a"}}, N{.stopwords = {"a"}}})
      check_fails(op, {text({2}, {"a", bad})}, "X: element 1 is not UTF-8");
  check_fails(N{.stopwords = {"\xC3"}}, {text({1}, {"a"})}, "stopwords: element 0 is not UTF-8");
  check_fails(N{.is_case_sensitive = 1, .stopwords = {"a", "\xFF"}}, {text({1}, {"a"})},
              "stopwords: element 1 is not UTF-8");
  check_fails(N{.is_case_sensitive = 2}, {text({1}, {"a"})}, "is_case_sensitive: 2, expected 0 or 1");
  check_fails(N{.case_change_action = "TITLE"}, {text({1}, {"a"})},
              "case_change_action: 'TITLE', expected NONE");
  check_fails(N{}, {text({2, 1}, {"a", "b"})}, "X: (2,1), expected (C) or (1,C)");
  check_fails(N{}, {text({}, {"a"})}, "X: (), expected (C) or (1,C)");
  check_fails(N{}, {text({1, 1, 1}, {"a"})}, "X: (1,1,1), expected");
  check_fails(N{}, {t<int64_t>({1}, {1})}, "input X cannot be tensor(int64)");
}

TEST_CASE("StringNormalizer: symbols, called") {
  const auto n = Dim::symbol(1);
  CHECK(infer(N{}, {info(DType::string, {n})})[0].dims == Dims{Dim::unknown()});
  CHECK(infer(N{}, {info(DType::string, {n, 2})})[0].dims == Dims{1, Dim::unknown()});
  CHECK_FALSE(infer(N{}, {info(DType::string, {})})[0].dims.ranked());
  check_equal(N{.case_change_action = "UPPER"}(Tensor<std::string, Shape<2>>{"a", "b"}),
              text({2}, {"A", "B"}));
}
}  // namespace tenon

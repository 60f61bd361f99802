#include "tenon/array/csv.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>

namespace tenon {
namespace {

template <class T>
std::string refusal(std::string_view text, const CsvOptions& options = {}) {
  try {
    (void)parse_csv<T>(text, options, "x.csv");
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}
template <class T>
std::vector<T> values_of(const Csv<T>& c) {
  return std::vector<T>(c.values.begin(), c.values.end());
}

}  // namespace

TEST_CASE("csv: forms of a text") {
  const std::vector<double> values{1, -2.5, 3e5, 4};
  struct Row {
    const char* text;
    CsvOptions options;
  } rows[] = {{"1,-2.5\n3e5,4\n", {}},
              {"1,-2.5\r\n3e5,4", {}},
              {"\xEF\xBB\xBF"
               "1,-2.5\n\n\r\n3e5,4\n\n",
               {}},
              {" 1 ,\t-2.5\n +3e5 , 4 \n", {}},
              {"\"1\",\"-2.5\"\n \"3e5\" ,\"4\"\n", {}},
              {"1\t-2.5\n3e5\t4", {.separator = '\t'}},
              {"1;-2.5\n3e5; 4", {.separator = ';'}},
              {"1 -2.5\n3e5 \"4\"\n", {.separator = ' '}},
              {"a,\"b \"\"c\"\"\nd\"\n1,-2.5\n3e5,4\n", {.header = true}}};
  for (const Row& row : rows) {
    const auto c = parse_csv<double>(row.text, row.options);
    CHECK(values_of(c) == values);
    CHECK(Extents(c.values.extents()) == Extents{2, 2});
    CHECK(c.names.size() == (row.options.header ? 2 : 0));
    if (row.options.header) CHECK(c.names == std::vector<std::string>{"a", "b \"c\"\nd"});
  }
  CHECK(Extents(parse_csv<float>("").values.extents()) == Extents{0, 0});
  CHECK(Extents(parse_csv<float>("\n\n").values.extents()) == Extents{0, 0});
  CHECK(Extents(parse_csv<float>("a,b", {.header = true}).values.extents()) == Extents{0, 2});
  const auto special = parse_csv<float>("inf,-Infinity,nan,1e99,-0.0,1e-99");
  CHECK(special.values(0, 0) == INFINITY);
  CHECK(special.values(0, 1) == -INFINITY);
  CHECK(std::isnan(special.values(0, 2)));
  CHECK(special.values(0, 3) == INFINITY);
  CHECK(std::signbit(special.values(0, 4)));
  CHECK(special.values(0, 5) == 0);
  CHECK(values_of(parse_csv<int8_t>("-128,127")) == std::vector<int8_t>{-128, 127});
  CHECK(values_of(parse_csv<uint64_t>("18446744073709551615")) == std::vector<uint64_t>{UINT64_MAX});
  CHECK(values_of(parse_csv<bool>("1,0,True,false")) == std::vector<bool>{true, false, true, false});
  CHECK(values_of(parse_csv<complex64>("(1-2j),3")) == std::vector<complex64>{{1, -2}, 3});
  CHECK(int4(parse_csv<int4>("1,-8,7").values(0, 1)) == int4(-8));
  CHECK(values_of(parse_csv<std::string>("a, b,\"c,\"\"\"\n,\"\",x")) ==
        std::vector<std::string>{"a", " b", "c,\"", "", "", "x"});
}

TEST_CASE("csv: errors names the line") {
  CHECK(refusal<float>("1,2\n3\n") == "x.csv: line 2: 1 fields, the first line has 2");
  CHECK(refusal<float>("1\n\n2,3\n") == "x.csv: line 3: 2 fields, the first line has 1");
  CHECK(refusal<float>("a\n1,2\n", {.header = true}) == "x.csv: line 2: 2 fields, the first line has 1");
  CHECK(refusal<float>("1,2\n3,abc\n") == "x.csv: line 2: field 2: 'abc' is no float");
  CHECK(refusal<float>("\"a\nb\"\n1\nx", {.header = true}) == "x.csv: line 4: field 1: 'x' is no float");
  CHECK(refusal<float>("1,\n") == "x.csv: line 1: field 2: '' is no float");
  CHECK(refusal<float>("1\r2") == "x.csv: line 1: field 1: '1\r2' is no float");
  CHECK(refusal<float>("1.5.2") == "x.csv: line 1: field 1: '1.5.2' is no float");
  CHECK(refusal<float>("1,\n\"2") == "x.csv: line 2: the quote of field 1 has no end");
  CHECK(refusal<float>("\"1\"2") == "x.csv: line 1: text follows the closing quote of field 1");
  CHECK(refusal<float>(std::string(100, 'x')) ==
        str_cat("x.csv: line 1: field 1: '", std::string(40, 'x'), "...' is no float"));
  CHECK(refusal<int8_t>("128") == "x.csv: line 1: field 1: '128' is no int8");
  CHECK(refusal<int8_t>("1.5") == "x.csv: line 1: field 1: '1.5' is no int8");
  CHECK(refusal<uint8_t>("-1") == "x.csv: line 1: field 1: '-1' is no uint8");
  CHECK(refusal<int4>("8") == "x.csv: line 1: field 1: '8' is no int4");
  for (const char c : {'1', 'e', '"', '\n', '\r', '.', '-', '+', '\0', '\x80', '('})
    CHECK(refusal<float>("1", {.separator = c}).starts_with("csv: character "));
}

TEST_CASE("csv: floats are read back as the same bits") {
  uint64_t state = 1;
  Tensor<double> wide({500, 4});
  Tensor<float> narrow({500, 4});
  Tensor<float16> half({65536, 1});
  for (int64_t k = 0; k < 2000; ++k) {
    state = state * 6364136223846793005 + 1442695040888963407;
    wide[k] = std::bit_cast<double>(state ^ state >> 29);
    narrow[k] = std::bit_cast<float>(static_cast<uint32_t>(state >> 32));
  }
  for (int64_t k = 0; k < 65536; ++k) half[k] = float16::from_bits(static_cast<uint16_t>(k));
  const auto check = [](const auto& t) {
    using T = typename std::remove_cvref_t<decltype(t)>::value_type;
    const auto back = parse_csv<T>(to_csv(t));
    REQUIRE(back.values.size() == t.size());
    int64_t differ = 0;
    for (int64_t k = 0; k < t.size(); ++k)
      differ += t[k] == t[k] ? std::memcmp(&back.values[k], &t[k], sizeof(T)) != 0
                             : back.values[k] == back.values[k];
    CHECK(differ == 0);
  };
  check(wide);
  check(narrow);
  check(half);
}

TEST_CASE("csv: written") {
  const Tensor<float, Shape<2, 2>> x{{1, 0.1f}, {-INFINITY, 1e20f}};
  CHECK(to_csv(x) == "1,0.1\n-inf,1e+20\n");
  const std::vector<std::string> names{"a", "b,\"c"};
  CHECK(to_csv(x, {.separator = ';'}, names) == "a;\"b,\"\"c\"\n1;0.1\n-inf;1e+20\n");
  CHECK(to_csv(Tensor<int32_t, Shape<2>>{1, 2}) == "1\n2\n");
  CHECK(to_csv(Tensor<double, Shape<>>(NAN)) == "nan\n");
  CHECK(to_csv(Tensor<bool>({1, 2}, {true, false})) == "1,0\n");
  CHECK(to_csv(Tensor<float>({0, 3})).empty());
  const Tensor<std::string, Shape<3, 2>> text{{"a b", "\"\n"}, {"", "\xEF\xBB\xBF"}, {"c\r", ","}};
  for (const char separator : {',', '\t', ' '}) {
    const auto back =
        parse_csv<std::string>(to_csv(text, {.separator = separator}), {.separator = separator});
    CHECK(std::equal(text.begin(), text.end(), back.values.begin(), back.values.end()));
  }
  CHECK_THROWS_AS(to_csv(Tensor<float>({1, 1, 1})), Error);
  CHECK_THROWS_AS(to_csv(Tensor<float>({2, 0})), Error);
  CHECK_THROWS_AS(to_csv(TensorView<float>()), Error);
  CHECK_THROWS_AS(to_csv(x, {}, std::vector<std::string>{"a"}), Error);
}

TEST_CASE("csv: files") {
  const char* const folder = std::getenv("TEST_TMPDIR");
  const std::filesystem::path file =
      (folder != nullptr ? std::filesystem::path(folder) : std::filesystem::temp_directory_path()) /
      "tenon_csv.csv";
  const std::vector<std::string> names{"x", "y"};
  save_csv(file, Tensor<float, Shape<1, 2>>{{1, 2}}, {}, names);
  const auto c = load_csv<int32_t>(file, {.header = true});
  CHECK(c.names == names);
  CHECK(c.values(0, 1) == 2);
  CHECK_THROWS_WITH_AS(load_csv<int32_t>(file),
                       (file.string() + ": line 1: field 1: 'x' is no int32").c_str(), Error);
  std::filesystem::remove(file);
  CHECK_THROWS_AS(load_csv<float>(file), Error);
}

}  // namespace tenon

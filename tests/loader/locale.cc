// Texts written and read under the locale that TENON_LOCALE names, whose decimal point is a comma, are the
// same as under "C".
#include <doctest/doctest.h>

#include <clocale>
#include <cstdlib>
#include <locale>
#include <sstream>

#include "loader/compile/compile.hpp"
#include "loader/compile/compile_words.hpp"
#include "loader/tool/embedded_headers.hpp"
#include "tenon/array/csv.hpp"
#include "tenon/array/print.hpp"
#include "tenon/model.hpp"
#include "tenon/op/traditionalml/cast_map.hpp"
#include "tenon/tensor/print.hpp"
#include "tests/op/check.hpp"

namespace tenon {
namespace {

const Tensor<double, Shape<2, 2>> numbers{{1234567.5, -0.25}, {1e-9, 12345}};

// All that is written of numbers that have a point, or thousands.
std::vector<std::pair<const char*, std::string>> texts() {
  const Model model = parse_text(R"(<ir_version: 8, opset_import: ["": 20]>
g (float[1234] x) => (float[1234] y) {
  c = Constant <value_float = 1.5> ()
  a = Elu <alpha = 0.0625> (x)
  y = Mul (a, c)
})");
  const Map map{Tensor<int64_t>({2}, {1, 2}), Tensor<float>({2}, {1.5f, -1234567.25f})};
  std::ostringstream stream;
  stream << std::fixed << numbers;
  return {{"tensor", to_string(numbers)},
          {"stream", stream.str()},
          {"csv", to_csv(numbers)},
          {"read csv", to_string(parse_csv<double>("0.5,-1e3\n1234.5,2\n", {}).values)},
          {"text of a model", print_text(model)},
          {"diagram", dot(model)},
          {"page", html(model)},
          {"map", to_string(test::run(op::CastMap{.cast_to = "TO_STRING"}, {map})[0])},
          {"literal", emission::literal(1.5) + emission::literal(-0.1f)},
          {"compiled model", compile(tool::embedded_headers(), model).header}};
}

TEST_CASE("a locale changes nothing") {
  const auto plain = texts();
  const char* const name = std::getenv("TENON_LOCALE");
  REQUIRE(name != nullptr);
  std::locale::global(std::locale(name));
  REQUIRE(std::string(std::localeconv()->decimal_point) == ",");
  const auto local = texts();
  for (std::size_t k = 0; k < plain.size(); ++k) {
    CAPTURE(plain[k].first);
    CHECK(local[k].second == plain[k].second);
  }
}

}  // namespace
}  // namespace tenon

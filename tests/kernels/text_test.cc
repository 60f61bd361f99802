#include <doctest/doctest.h>

#include "tenon/kernels/text/case.hpp"

namespace tenon::kernels {

TEST_CASE("Case: letters that have one") {
  struct Row {
    char32_t lower, upper;
  } rows[] = {{'a', 'A'},       {'z', 'Z'},        {0xE9, 0xC9},     {0xFF, 0x178},    {0x101, 0x100},
              {0x17E, 0x17D},   {0x3C9, 0x3A9},    {0x44F, 0x42F},   {0x561, 0x531},   {0x1E01, 0x1E00},
              {0x1F80, 0x1F88}, {0x2170, 0x2160},  {0x24D0, 0x24B6}, {0x2C30, 0x2C00}, {0xAB70, 0x13A0},
              {0xFF41, 0xFF21}, {0x1E943, 0x1E921}};
  for (const Row& row : rows) {
    CHECK(with_case(row.lower, Case::upper, false) == row.upper);
    CHECK(with_case(row.upper, Case::lower, false) == row.lower);
    CHECK(with_case(row.upper, Case::upper, false) == row.upper);
    CHECK(with_case(row.lower, Case::lower, false) == row.lower);
  }
  for (char32_t c : {U'0', U'[', U'`', U'{', U'ß', U'中', U'\u0130', U'\U0010FFFF'})
    CHECK(with_case(c, Case::upper, false) == c);
  CHECK(with_case(U'i', Case::upper, true) == 0x130);
  CHECK(with_case(U'I', Case::lower, true) == 0x131);
  CHECK(with_case(0x131, Case::upper, true) == U'I');
  CHECK(with_case(0x130, Case::lower, true) == U'i');
  // Text of any letters stays in the case that it has.
  int wrong = 0;
  for (char32_t c = 0; c <= 0x10FFFF; ++c)
    for (Case to : {Case::lower, Case::upper}) {
      const char32_t once = with_case(c, to, false);
      wrong += with_case(once, to, false) != once;
    }
  CHECK(wrong == 0);
}

}  // namespace tenon::kernels

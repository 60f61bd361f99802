#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string_view>

#include "tenon/base/platform/clock.hpp"
#include "tenon/base/platform/decimal.hpp"
#include "tenon/base/platform/overflow.hpp"
#include "tenon/base/platform/stop.hpp"

namespace {

constexpr int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();

TEST_CASE("sums, differences and products tell whether they fit") {
  int64_t r = 0;
  CHECK_FALSE(tenon::detail::add_overflow(most, int64_t{-1}, &r));
  CHECK(r == most - 1);
  CHECK(tenon::detail::add_overflow(most, int64_t{1}, &r));
  CHECK_FALSE(tenon::detail::sub_overflow(int64_t{-1}, most, &r));
  CHECK(r == least);
  CHECK(tenon::detail::sub_overflow(int64_t{-2}, most, &r));
  CHECK_FALSE(tenon::detail::mul_overflow(least, int64_t{1}, &r));
  CHECK(r == least);
  CHECK(tenon::detail::mul_overflow(least, int64_t{-1}, &r));
}

TEST_CASE("bounded products") {
  CHECK(tenon::detail::bounded_product(6, 7, 100) == 42);
  CHECK(tenon::detail::bounded_product(6, 7, 41) == 41);
  CHECK(tenon::detail::bounded_product(most, most, 1000) == 1000);
  CHECK(tenon::detail::bounded_product(most, 0, 1000) == 0);
}

TEST_CASE("products of 128 bits") {
  uint64_t low = 0;
  CHECK(tenon::detail::multiply_wide(~uint64_t{0}, ~uint64_t{0}, &low) == ~uint64_t{0} - 1);
  CHECK(low == 1);
}

TEST_CASE("the clock has passed the year 2020") {
  CHECK(tenon::detail::clock_nanoseconds() > uint64_t{1'577'836'800} * 1'000'000'000);
}

TEST_CASE("numbers are read up to the first other character") {
  const auto length = [](std::string_view text) {
    double value = 0;
    return tenon::detail::read_decimal_number(text.data(), text.data() + text.size(), value).ptr -
           text.data();
  };
  CHECK(length("1.5e3x") == 5);
  CHECK(length("1.5e") == 3);
  CHECK(length("-infinity ") == 9);
  CHECK(length("0x10") == 1);
  CHECK(length("+1") == 0);
}

TEST_CASE("a stop is requested once and seen by all tokens") {
  tenon::StopSource source;
  const tenon::StopToken token = source.get_token();
  CHECK(token.stop_possible());
  CHECK_FALSE(token.stop_requested());
  CHECK(source.request_stop());
  CHECK_FALSE(source.request_stop());
  CHECK(token.stop_requested());
  CHECK_FALSE(tenon::StopToken().stop_possible());
}

}  // namespace

#include "tenon/base/convert.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>

namespace tenon {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr CastOptions no_saturate{.saturate = false};

// ---- float8
// ------------------------------------------------------------------------------------------------

TEST_CASE("float8: the tables of Cast") {
  struct Row {
    double x;
    // e4m3fn, e4m3fnuz, e5m2, e5m2fnuz: bits with saturation, then without
    uint8_t saturated[4], open[4];
  };
  const Row rows[] = {
      {0.0, {0x00, 0x00, 0x00, 0x00}, {0x00, 0x00, 0x00, 0x00}},
      {-0.0, {0x80, 0x00, 0x80, 0x00}, {0x80, 0x00, 0x80, 0x00}},
      {nan, {0x7f, 0x80, 0x7e, 0x80}, {0x7f, 0x80, 0x7e, 0x80}},
      {-nan, {0xff, 0x80, 0xfe, 0x80}, {0xff, 0x80, 0xfe, 0x80}},
      {inf, {0x7e, 0x7f, 0x7b, 0x7f}, {0x7f, 0x80, 0x7c, 0x80}},
      {-inf, {0xfe, 0xff, 0xfb, 0xff}, {0xff, 0x80, 0xfc, 0x80}},
      {1e6, {0x7e, 0x7f, 0x7b, 0x7f}, {0x7f, 0x80, 0x7c, 0x80}},
      {-1e300, {0xfe, 0xff, 0xfb, 0xff}, {0xff, 0x80, 0xfc, 0x80}},
      {464, {0x7e, 0x7f, 0x5f, 0x5b + 8}, {0x7e, 0x80, 0x5f, 0x63}},  // halfway past e4m3fn's 448
      {1, {0x38, 0x40, 0x3c, 0x40}, {0x38, 0x40, 0x3c, 0x40}},
      {-1e-7, {0x80, 0x00, 0x80, 0x00}, {0x80, 0x00, 0x80, 0x00}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.x);
    for (bool saturate : {true, false}) {
      const CastOptions options{.saturate = saturate};
      const uint8_t* expected = saturate ? row.saturated : row.open;
      CHECK(convert<float8e4m3fn>(row.x, options).bits == expected[0]);
      CHECK(convert<float8e4m3fnuz>(row.x, options).bits == expected[1]);
      CHECK(convert<float8e5m2>(row.x, options).bits == expected[2]);
      CHECK(convert<float8e5m2fnuz>(row.x, options).bits == expected[3]);
      CHECK(convert<float8e5m2>(static_cast<float>(row.x), options).bits == expected[2]);
    }
  }
}

// Without saturation only what rounds beyond the largest value changes.
template <class T>
void check_without_saturation(double largest, double step, int beyond) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto b = static_cast<uint16_t>(bits);
    for (float x : {convert<float>(float16::from_bits(b)), convert<float>(bfloat16::from_bits(b))}) {
      const int sign = std::signbit(x) && std::numeric_limits<T>::has_infinity ? 0x80 : 0;
      const int fn_sign = std::is_same_v<T, float8e4m3fn> && std::signbit(x) ? 0x80 : 0;
      // Each of the largest values ends in an odd mantissa, except 448.
      const double turn = largest + step / 2;
      const bool over = largest == 448 ? std::fabs(x) > turn : std::fabs(x) >= turn;
      const int expected = over ? beyond | sign | fn_sign : T(x).bits;
      if (convert<T>(x, no_saturate).bits != expected) FAIL("from ", x);
    }
  }
}

TEST_CASE("float8 without saturation, every float16 and bfloat16") {
  check_without_saturation<float8e4m3fn>(448, 32, 0x7f);
  check_without_saturation<float8e4m3fnuz>(240, 16, 0x80);
  check_without_saturation<float8e5m2>(57344, 8192, 0x7c);
  check_without_saturation<float8e5m2fnuz>(57344, 8192, 0x80);
}

TEST_CASE("types without a choice ignore saturate") {
  CHECK(convert<float16>(1e6, no_saturate).bits == 0x7c00);
  CHECK(convert<float16>(1e6).bits == 0x7c00);
  CHECK(convert<bfloat16>(-inf).bits == 0xff80);
  CHECK(convert<float4e2m1>(-inf, no_saturate).bits == 0xf);
  CHECK(convert<float4e2m1>(9.0f).bits == 0x7);
  CHECK(convert<float>(1e300) == inf);
}

TEST_CASE("float8e8m0: every bfloat16, each rounding") {
  for (int bits = 0; bits < 0x8000; ++bits) {
    const auto x = static_cast<double>(bfloat16::from_bits(static_cast<uint16_t>(bits)));
    int exponent;
    const double fraction = std::frexp(x, &exponent) * 2;  // in [1, 2)
    --exponent;
    for (E8M0Round round : {E8M0Round::up, E8M0Round::down, E8M0Round::nearest}) {
      for (bool saturate : {true, false}) {
        int expected;
        if (std::isnan(x)) {
          expected = 255;
        } else if (std::isinf(x)) {
          expected = saturate ? 254 : 255;
        } else if (x == 0) {
          expected = saturate ? 0 : 255;
        } else {
          int rounded = exponent;
          if (round == E8M0Round::up) rounded = std::max(exponent + (fraction > 1), -127);
          if (round == E8M0Round::nearest) rounded += fraction >= 1.5;
          expected = rounded + 127;
          if (rounded > 127) expected = saturate ? 254 : 255;
          if (rounded < -127) expected = saturate ? 0 : 255;
        }
        const CastOptions options{.saturate = saturate, .round_mode = round};
        const bool same = convert<float8e8m0>(x, options).bits == expected &&
                          convert<float8e8m0>(static_cast<float>(-x), options).bits == expected;
        if (!same) FAIL("from ", x, " round ", static_cast<int>(round), " saturate ", saturate);
      }
    }
  }
  // A bit that only a double holds.
  CHECK(convert<float8e8m0>(std::nextafter(1.0, 2.0)).bits == 128);
  CHECK(convert<float8e8m0>(std::nextafter(1.5, 0.0), {.round_mode = E8M0Round::nearest}).bits == 127);
  CHECK(convert<float8e8m0>((int64_t{1} << 62) + 1).bits == 127 + 63);
  CHECK(convert<float8e8m0>(1e-300).bits == 0);
  CHECK(convert<float8e8m0>(1e300, no_saturate).bits == 255);
}

// ---- integers, bool
// ------------------------------------------------------------------------------------------

TEST_CASE("integers keep their low bits") {
  CHECK(convert<int8_t>(int16_t{200}) == -56);
  CHECK(convert<uint8_t>(int64_t{-1}) == 255);
  CHECK(convert<int32_t>(uint64_t{0xfedcba9876543210}) == 0x76543210);
  CHECK(convert<uint64_t>(int8_t{-1}) == ~uint64_t{0});
  CHECK(convert<int64_t>(~uint64_t{0}) == -1);
  CHECK(convert<int4>(int32_t{200}).value() == -8);
  CHECK(convert<uint2>(uint64_t{0xfffffffffffffffe}).value() == 2);
  CHECK(convert<int64_t>(int4(-8)) == -8);
  CHECK(convert<uint8_t>(int2(-1)) == 255);
  CHECK(convert<uint4>(int2(-1)).value() == 15);
  CHECK(convert<int2>(uint4(14)).value() == -2);
  for (int i = 0; i < 0x10000; ++i) {
    const auto x = static_cast<int16_t>(i);
    const bool same = convert<int8_t>(x) == static_cast<int8_t>(i & 0xff) &&
                      convert<uint4>(x).value() == (i & 15) &&
                      convert<uint64_t>(x) == static_cast<uint64_t>(x) && convert<float>(x) == x &&
                      convert<bool>(x) == (i != 0);
    if (!same) FAIL("from ", x);
  }
}

TEST_CASE("floats to integers") {
  const int64_t least = std::numeric_limits<int64_t>::min();
  struct Row {
    double x;
    int8_t i8;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    int i4;
  };
  const int32_t least32 = std::numeric_limits<int32_t>::min();
  const auto top = uint64_t{1} << 63;
  const Row rows[] = {
      {0.99, 0, 0, 0, 0, 0, 0, 0},
      {-0.99, 0, 0, 0, 0, 0, 0, 0},
      {2.5, 2, 2, 2, 2, 2, 2, 2},
      {-2.5, -2, 0xfffe, -2, 0xfffffffe, -2, ~uint64_t{1}, -2},
      {300.7, 44, 300, 300, 300, 300, 300, -4},
      {-9, -9, 0xfff7, -9, 0xfffffff7, -9, ~uint64_t{8}, 7},
      {0x1p31, 0, 0, least32, 0x80000000, int64_t{1} << 31, uint64_t{1} << 31, 0},
      {0x1p31 - 0.5, -1, 0xffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, -1},
      {-0x1p31 - 0.5, 0, 0, least32, 0x80000000, -(int64_t{1} << 31), ~((uint64_t{1} << 31) - 1), 0},
      {0x1p32 + 5, 0, 0, least32, 5, (int64_t{1} << 32) + 5, (uint64_t{1} << 32) + 5, 0},
      {0x1p63, 0, 0, least32, 0, least, top, 0},
      {-0x1p63, 0, 0, least32, 0, least, top, 0},
      {0x1.8p63, 0, 0, least32, 0, least, top + (top >> 1), 0},
      {0x1p64, 0, 0, least32, 0, least, 0, 0},
      {inf, 0, 0, least32, 0, least, 0, 0},
      {-inf, 0, 0, least32, 0, least, top, 0},
      {nan, 0, 0, least32, 0, least, top, 0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.x);
    auto check = [&row](auto x) {
      CHECK(convert<int8_t>(x) == row.i8);
      CHECK(convert<uint16_t>(x) == row.u16);
      CHECK(convert<int32_t>(x) == row.i32);
      CHECK(convert<uint32_t>(x) == row.u32);
      CHECK(convert<int64_t>(x) == row.i64);
      CHECK(convert<uint64_t>(x) == row.u64);
      CHECK(convert<int4>(x).value() == row.i4);
    };
    check(row.x);
    const auto f = static_cast<float>(row.x);
    if (f == row.x || row.x != row.x) check(f);
    if (convert<double>(convert<float16>(row.x)) == row.x) check(convert<float16>(row.x));
  }
}

TEST_CASE("bool") {
  CHECK(convert<bool>(nan));
  CHECK(convert<bool>(-inf));
  CHECK(convert<bool>(1e-320));
  CHECK(!convert<bool>(-0.0f));
  CHECK(!convert<bool>(float16::from_bits(0x8000)));
  CHECK(convert<bool>(float8e8m0::from_bits(0)));
  CHECK(convert<bool>(int4(-8)));
  CHECK(convert<bool>(std::complex<float>(2, 0)));
  CHECK(convert<float4e2m1>(true).bits == 2);
  CHECK(convert<int2>(true).value() == 1);
  CHECK(convert<uint64_t>(false) == 0);
  CHECK(convert<float8e8m0>(true).bits == 127);
}

TEST_CASE("integers to floats round once") {
  const int64_t x = (int64_t{1} << 62) + (int64_t{1} << 38);  // halfway between two floats
  CHECK(convert<float>(x) == 0x1p62f);
  CHECK(convert<float>(x + 1) == 0x1.000002p62f);
  CHECK(convert<complex64>(x + 1).real() == 0x1.000002p62f);
  CHECK(convert<double>((int64_t{1} << 53) + 1) == 0x1p53);
  CHECK(convert<double>((int64_t{1} << 53) + 3) == 0x1.0000000000002p53);
  CHECK(convert<double>(~uint64_t{0}) == 0x1p64);
  CHECK(convert<float16>(int64_t{2049}).bits == 0x6800);  // 2048: to even
  CHECK(convert<float16>(uint64_t{1} << 40).bits == 0x7c00);
}

// ---- complex
// ---------------------------------------------------------------------------------------------------

TEST_CASE("complex") {
  const complex128 z(-2.75, 1e300);
  CHECK(convert<complex64>(z) == complex64(-2.75f, static_cast<float>(inf)));
  CHECK(convert<complex128>(complex64(1.5f, -2)) == complex128(1.5, -2));
  CHECK(convert<double>(z) == -2.75);
  CHECK(convert<int8_t>(z) == -2);
  CHECK(convert<complex128>(int4(-3)) == complex128(-3, 0));
  CHECK(convert<complex64>(float8e5m2(0.5f)) == complex64(0.5f, 0));
}

// ---- strings
// ---------------------------------------------------------------------------------------------------

TEST_CASE("to string") {
  struct Row {
    std::string text, expected;
  };
  const float f = 0.9767611f;
  const Row rows[] = {
      {convert<std::string>(f), "0.9767611"},
      {convert<std::string>(0.039187793f), "0.039187793"},
      {convert<std::string>(1.0f), "1.0"},
      {convert<std::string>(-0.0f), "-0.0"},
      {convert<std::string>(100.0), "100.0"},
      {convert<std::string>(314.15926), "314.15926"},
      {convert<std::string>(123456789.0f), "123456790.0"},
      {convert<std::string>(1e15), "1000000000000000.0"},
      {convert<std::string>(1e16), "1e+16"},
      {convert<std::string>(9999999999999998.0), "9999999999999998.0"},
      {convert<std::string>(1.5e-5), "1.5e-05"},
      {convert<std::string>(0.0001), "0.0001"},
      {convert<std::string>(0.00012345f), "0.00012345"},
      {convert<std::string>(5e-324), "5e-324"},
      {convert<std::string>(1.7976931348623157e308), "1.7976931348623157e+308"},
      {convert<std::string>(nan), "nan"},
      {convert<std::string>(static_cast<float>(-inf)), "-inf"},
      {convert<std::string>(float16(0.1)), "0.1"},
      {convert<std::string>(float16(-65504)), "-65500.0"},
      {convert<std::string>(float16::from_bits(1)), "6e-08"},
      {convert<std::string>(bfloat16(0.1)), "0.100097656"},
      {convert<std::string>(float8e4m3fn(448)), "448.0"},
      {convert<std::string>(float8e8m0(1024)), "1024.0"},
      {convert<std::string>(float4e2m1(-1.5)), "-1.5"},
      {convert<std::string>(int8_t{-128}), "-128"},
      {convert<std::string>(uint8_t{65}), "65"},
      {convert<std::string>(~uint64_t{0}), "18446744073709551615"},
      {convert<std::string>(std::numeric_limits<int64_t>::min()), "-9223372036854775808"},
      {convert<std::string>(int4(-8)), "-8"},
      {convert<std::string>(uint2(3)), "3"},
      {convert<std::string>(true), "True"},
      {convert<std::string>(false), "False"},
      {convert<std::string>(complex64(1, 2)), "(1+2j)"},
      {convert<std::string>(complex128(-1.5, -1e20)), "(-1.5-1e+20j)"},
      {convert<std::string>(complex64(0, 2.5f)), "2.5j"},
      {convert<std::string>(complex64(-0.0f, 0)), "(-0+0j)"},
      {convert<std::string>(complex128(nan, -inf)), "(nan-infj)"},
      {convert<std::string>(std::string("as is ")), "as is "},
  };
  for (const Row& row : rows) CHECK(row.text == row.expected);
}

TEST_CASE("from string to floats") {
  struct Row {
    const char* text;
    double value;
  };
  const Row rows[] = {
      {"3.14", 3.14},
      {"1000", 1000},
      {"1e-5", 1e-5},
      {"1E8", 1e8},
      {"+2.5", 2.5},
      {" -7 \n", -7},
      {"INF", inf},
      {"+INF", inf},
      {"-INF", -inf},
      {"+iNf", inf},
      {"infinity", inf},
      {".5", 0.5},
      {"5.", 5},
      {"1e400", inf},
      {"-1e400", -inf},
      {"1e-400", 0},
      {"-1e-400", -0.0},
      {"-0", -0.0},
      {"0e99999999999", 0},
      {"0.00001e9999999999999", inf},
      {"100000e-9999999999999", 0},
      {"1e-310", 1e-310},
      {"2.2250738585072011e-308", 2.2250738585072011e-308},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const std::string text = row.text;
    CHECK(convert<double>(text) == row.value);
    CHECK(std::signbit(convert<double>(text)) == std::signbit(row.value));
    CHECK(convert<float>(text) == static_cast<float>(row.value));
    CHECK(convert<float16>(text).bits == float16(row.value).bits);
    CHECK(convert<float8e5m2>(text, no_saturate).bits == convert<float8e5m2>(row.value, no_saturate).bits);
    CHECK(convert<complex128>(text) == complex128(row.value, 0));
  }
  CHECK(std::isnan(convert<float>(std::string("NaN"))));
  CHECK(std::isnan(convert<double>(std::string("-nAN"))));
  CHECK(convert<float>(std::string("1e39")) == inf);
  CHECK(convert<float>(std::string("0.1")) == 0.1f);
}

TEST_CASE("from string to narrow floats: one rounding") {
  // 1 + 2^-11 lies halfway between two float16. What follows the tie in the text is below a double's last
  // bit.
  struct Row {
    const char* text;
    uint16_t bits;
  };
  const Row rows[] = {
      {"1.00048828125", 0x3c00},
      {"1.000488281250000000000000", 0x3c00},
      {"1.00048828125000000000000000000000000001", 0x3c01},
      {"100048828125000000000000000000000000001e-38", 0x3c01},
      {"1.00048828124999999999999999999999999999", 0x3c00},
      {"-1.00048828125000000000000000000000000001", 0xbc01},
      {"+1.00146484375", 0x3c02},
      {"1.00146484374999999999999999999999999999", 0x3c01},
      {"65519.9999999999999999999999999999", 0x7bff},
      {"65520", 0x7c00},
  };
  for (const Row& row : rows) CHECK(convert<float16>(std::string(row.text)).bits == row.bits);
  CHECK(convert<float8e8m0>(std::string("1.000000000000000000000000000001")).bits == 128);
  CHECK(convert<float8e8m0>(std::string("0.999999999999999999999999999999")).bits == 127);
}

TEST_CASE("from string to integers, bool and complex") {
  const auto text = [](const char* s) { return std::string(s); };
  CHECK(convert<int32_t>(text("100.5")) == 100);
  CHECK(convert<int32_t>(text("-100.5")) == -100);
  CHECK(convert<int32_t>(text("+7")) == 7);
  CHECK(convert<int32_t>(text("1e3")) == 1000);
  CHECK(convert<uint8_t>(text("300")) == 44);
  CHECK(convert<int64_t>(text("9223372036854775807")) == std::numeric_limits<int64_t>::max());
  CHECK(convert<int64_t>(text("9007199254740993")) == 9007199254740993);
  CHECK(convert<uint64_t>(text("18446744073709551615")) == ~uint64_t{0});
  CHECK(convert<uint64_t>(text("-1")) == ~uint64_t{0});
  CHECK(convert<int64_t>(text("99999999999999999999")) == std::numeric_limits<int64_t>::min());
  CHECK(convert<int4>(text("-9")).value() == 7);
  CHECK(convert<bool>(text("True")));
  CHECK(convert<bool>(text(" 0.5 ")));
  CHECK(!convert<bool>(text("FALSE")));
  CHECK(!convert<bool>(text("0")));
  CHECK(convert<complex64>(text("(1+2j)")) == complex64(1, 2));
  CHECK(convert<complex64>(text("-2.5J")) == complex64(0, -2.5f));
  CHECK(convert<complex128>(text("1e-5-2e+5j")) == complex128(1e-5, -2e5));
  CHECK(convert<complex128>(text("-1e-5j")) == complex128(0, -1e-5));
  CHECK(convert<complex128>(text("inf-infj")) == complex128(inf, -inf));
}

TEST_CASE("malformed strings") {
  for (const char* s : {"", " ", "Hello World!", "1,5", "0x10", "1e", "1 2", "+-1", "-+1", "++1", "+", "--1",
                        "1.2.3", "12abc", "infin", "tru"}) {
    CAPTURE(s);
    const std::string text = s;
    CHECK_THROWS_AS(convert<float>(text), Error);
    CHECK_THROWS_AS(convert<double>(text), Error);
    CHECK_THROWS_AS(convert<bfloat16>(text), Error);
    CHECK_THROWS_AS(convert<int64_t>(text), Error);
    CHECK_THROWS_AS(convert<bool>(text), Error);
    CHECK_THROWS_AS(convert<complex64>(text), Error);
  }
  for (const char* s : {"j", "1+j", "(1", "1+2", "()", "1+2jj", "e+1j"}) {
    CAPTURE(s);
    CHECK_THROWS_AS(convert<complex128>(std::string(s)), Error);
  }
  CHECK_THROWS_WITH(convert<int32_t>(std::string("x")), "Cast: 'x' is no int32");
}

TEST_CASE_TEMPLATE("every finite value survives a string", T, float16, bfloat16, float8e4m3fn, float8e4m3fnuz,
                   float8e5m2, float8e5m2fnuz) {
  for (int bits = 0; bits < 1 << (8 * sizeof(T)); ++bits) {
    const T x = T::from_bits(static_cast<typename T::Bits>(bits));
    if (!std::isfinite(static_cast<float>(x))) continue;
    if (convert<T>(convert<std::string>(x)).bits != x.bits) FAIL("bits ", bits);
  }
}

// ---- arrays
// ----------------------------------------------------------------------------------------------------

TEST_CASE("convert_n through packed pointers") {
  const float from[] = {-9, -8, 7, 8, 3.9f};
  uint8_t bytes[4] = {0xff, 0xff, 0xff, 0xff};
  convert_n(PackedPtr<int4>(bytes) + 1, from, 5);
  const uint8_t expected[] = {0x7f, 0x78, 0x38, 0xff};
  for (int i = 0; i < 4; ++i) CHECK(bytes[i] == expected[i]);
  int64_t back[5];
  convert_n(back, PackedPtr<const int4>(bytes) + 1, 5);
  CHECK(back[0] == 7);
  CHECK(back[1] == -8);
  CHECK(back[3] == -8);
  CHECK(back[4] == 3);
}

// n elements of T, alive.
template <class T>
struct Array {
  explicit Array(int64_t n) : size(n), data(new T[static_cast<size_t>(n)]()) {}
  element_pointer_t<T> begin() { return element_pointer<T>(static_cast<void*>(data.get())); }
  int64_t size;
  std::unique_ptr<T[]> data;
};

// Longer than two panels, and with a last byte in part whatever the packing.
constexpr int64_t length = 2 * detail::panel_size + 37;

template <class T>
Array<T> samples() {
  static const double numbers[] = {0,         -0.0,  1,     -1,
                                   0.5,       2.5,   -3,    7,
                                   8,         -9,    100.7, 200,
                                   448,       464,   -500,  57344,
                                   65519,     65520, 1e9,   -2147483648.0,
                                   3e9,       1e-5,  1e-40, 1e19,
                                   -1e25,     1e38,  1e300, inf,
                                   -inf,      nan,   6e-8,  0x1p62 + 0x1p54,
                                   0x1p53 + 2};
  Array<T> array(length);
  const auto p = array.begin();
  for (int64_t i = 0; i < length; ++i) {
    const double x = numbers[i % std::size(numbers)];
    const auto whole = static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15;
    if constexpr (std::is_same_v<T, std::string>) p[i] = convert<std::string>(x);
    else if constexpr (is_integer(dtype_of<T>))
      p[i] = convert<T>(whole + (i % 3 == 0 ? 0 : uint64_t{1} << 62));
    else if constexpr (is_complex(dtype_of<T>)) p[i] = convert<T>(complex128(x, static_cast<double>(i)));
    else p[i] = convert<T>(x);
  }
  return array;
}

template <class To, class From>
bool erased_agrees(Array<From>& src, CastOptions options) {
  Array<To> expected(length), actual(length);
  // Typed and element by element against erased; what was there before must not show.
  if constexpr (!std::is_same_v<To, std::string>) {
    std::memset(static_cast<void*>(actual.data.get()), 0xa5,
                static_cast<size_t>(packed_bytes(length, dtype_of<To>)));
  }
  convert_n(expected.begin(), static_cast<element_pointer_t<const From>>(src.begin()), length, options);
  convert_n(dtype_of<To>, actual.data.get(), dtype_of<From>, src.data.get(), length, options);
  if constexpr (std::is_same_v<To, std::string>) {
    return std::equal(expected.data.get(), expected.data.get() + length, actual.data.get());
  } else {
    const auto bytes = static_cast<size_t>(packed_bytes(length, dtype_of<To>));
    return std::memcmp(expected.data.get(), actual.data.get(), bytes) == 0;
  }
}

// The type pairs of which the first is in From and the second in To.
template <class... From, class... To>
void check_erased(TypeList<From...>, TypeList<To...>) {
  const CastOptions other{.saturate = false, .round_mode = E8M0Round::nearest};
  auto check_from = [&]<class F>() {
    Array<F> src = samples<F>();
    const bool agrees[] = {(erased_agrees<To>(src, {}) && erased_agrees<To>(src, other))...};
    const DType to[] = {dtype_of<To>...};
    for (size_t i = 0; i < std::size(to); ++i) {
      CAPTURE(name_of(dtype_of<F>));
      CAPTURE(name_of(to[i]));
      CHECK(agrees[i]);
    }
  };
  (check_from.template operator()<From>(), ...);
}

// A number passes through one of two panels: hence every type into types of each kind, and types of each kind
// into every type.
TEST_CASE("erased convert_n is convert") {
  check_erased(all_types{}, TypeList<float, double, float16, int64_t, int4, bool>{});
  check_erased(TypeList<float, double, int64_t, uint64_t, complex64, complex128, std::string>{}, all_types{});
}

TEST_CASE("erased convert_n: edges") {
  uint8_t byte = 0xff;
  const int8_t one = 1;
  convert_n(DType::int4, &byte, DType::int8, &one, 0);
  CHECK(byte == 0xff);
  convert_n(DType::int4, nullptr, DType::string, nullptr, 0);
  convert_n(DType::uint2, &byte, DType::int8, &one, 1);
  CHECK(byte == 1);
  const uint8_t full = 0xff;
  convert_n(DType::uint2, &byte, DType::uint2, &full, 3);
  CHECK(byte == 0x3f);
  CHECK_THROWS_AS(convert_n(DType::undefined, &byte, DType::int8, &one, 1), Error);
  CHECK_THROWS_AS(convert_n(DType::int8, &byte, static_cast<DType>(77), &one, 1), Error);
  const std::string bad = "x";
  CHECK_THROWS_AS(convert_n(DType::int4, &byte, DType::string, &bad, 1), Error);
}

static_assert(convert<float16>(65520.0f) == std::numeric_limits<float16>::infinity());
static_assert(convert<uint8_t>(-1.0) == 255 && convert<float>(float8e4m3fn(448)) == 448);

}  // namespace
}  // namespace tenon

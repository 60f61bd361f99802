#include "tenon/base/types.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

namespace tenon {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// What a bit pattern stands for, by the definition of the formats.
struct Layout {
  int exponent_bits, mantissa_bits, bias;
  bool has_inf;       // and NaN: IEEE's exponent of ones
  int nan_magnitude;  // the one NaN pattern apart from the sign; -1: none
  bool minus_zero_is_nan;

  int count() const { return 1 << (exponent_bits + mantissa_bits); }  // magnitudes

  double value(int bits) const {
    const int magnitude = bits & (count() - 1);
    const int exponent = magnitude >> mantissa_bits, mantissa = magnitude & ((1 << mantissa_bits) - 1);
    const double sign = bits & count() ? -1 : 1;
    if (minus_zero_is_nan && bits == count()) return nan;
    if (magnitude == nan_magnitude) return nan;
    if (has_inf && exponent == (1 << exponent_bits) - 1) return mantissa != 0 ? nan : sign * inf;
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  }
};

template <class T>
constexpr Layout layout{};
template <>
constexpr Layout layout<float16>{5, 10, 15, true, -1, false};
template <>
constexpr Layout layout<bfloat16>{8, 7, 127, true, -1, false};
template <>
constexpr Layout layout<float8e4m3fn>{4, 3, 7, false, 0x7f, false};
template <>
constexpr Layout layout<float8e4m3fnuz>{4, 3, 8, false, -1, true};
template <>
constexpr Layout layout<float8e5m2>{5, 2, 15, true, -1, false};
template <>
constexpr Layout layout<float8e5m2fnuz>{5, 2, 16, false, -1, true};
template <>
constexpr Layout layout<float4e2m1>{2, 1, 1, false, -1, false};

// The finite magnitudes of T in order; their index is their bit pattern.
template <class T>
std::vector<double> magnitudes() {
  std::vector<double> all;
  for (int bits = 0; bits < layout<T>.count(); ++bits) {
    if (std::isfinite(layout<T>.value(bits))) all.push_back(layout<T>.value(bits));
  }
  return all;
}

// The bit pattern nearest to x by search, ties to the even pattern.
template <class T>
int nearest(double x, const std::vector<double>& all) {
  const int sign = std::signbit(x) ? layout<T>.count() : 0;
  const double magnitude = std::fabs(x);
  const int last = static_cast<int>(all.size()) - 1;
  int found;
  if (magnitude >= all[last]) {
    // Beyond the range the next value is the one that the format would have with more exponents.
    const double middle = all[last] + (all[last] - all[last - 1]) / 2;
    const bool beyond = magnitude > middle || (magnitude == middle && last % 2 == 1);
    const bool saturates = !std::is_same_v<T, float16> && !std::is_same_v<T, bfloat16>;
    found = beyond && !saturates ? last + 1 : last;
  } else {
    // Checked containers have std::upper_bound verify the order of all.
    const int above = static_cast<int>(std::ranges::upper_bound(all, magnitude) - all.begin());
    const double middle = (all[above - 1] + all[above]) / 2;
    found = magnitude < middle ? above - 1 : magnitude > middle || (above - 1) % 2 != 0 ? above : above - 1;
  }
  return layout<T>.minus_zero_is_nan && found == 0 ? 0 : sign | found;
}

template <class T>
void check_decoding() {
  for (int bits = 0; bits < 2 * layout<T>.count(); ++bits) {
    const T x = T::from_bits(static_cast<typename T::Bits>(bits));
    const double expected = layout<T>.value(bits);
    const auto as_float = static_cast<float>(x);
    const auto as_double = static_cast<double>(x);
    if (std::isnan(expected)) {
      if (!std::isnan(as_float) || !std::isnan(as_double)) FAIL("pattern ", bits, " is not NaN");
      if (!std::isnan(static_cast<float>(T(as_float)))) FAIL("pattern ", bits, " does not stay NaN");
      if (x == x || x < x || x > x) FAIL("pattern ", bits, " compares as a number");
      continue;
    }
    if (as_float != expected || as_double != expected || std::signbit(as_float) != std::signbit(expected)) {
      FAIL("pattern ", bits, ": ", as_double, " for ", expected);
    }
    const bool back = T(as_float).bits == bits && T(as_double).bits == bits;
    if (!back && !(std::isinf(expected) && std::is_same_v<T, float8e5m2>)) FAIL("pattern ", bits, " changes");
    if (!(x == x) || static_cast<float>(-x) != -expected) FAIL("pattern ", bits, ": == or -");
  }
}

template <class T>
void check_rounding() {
  const std::vector<double> all = magnitudes<T>();
  std::vector<double> probes = {0.0, 1e-320, 1e-45, 1e-40, 1e30, 3.5e38, 1e300, inf};
  for (size_t i = 0; i < all.size(); ++i) {
    const double next = i + 1 < all.size() ? all[i + 1] : all[i] + (all[i] - all[i - 1]);
    const double middle = (all[i] + next) / 2;
    for (double x : {all[i], middle, all[i] + (next - all[i]) / 3}) {
      const auto f = static_cast<float>(x);
      probes.insert(probes.end(), {x, std::nextafter(x, 0.0), std::nextafter(x, inf), f,
                                   std::nextafter(f, 0.0f), std::nextafter(f, 2 * f + 1)});
    }
  }
  for (int bits = 0; bits < 0x8000; ++bits) {
    const auto b = static_cast<uint16_t>(bits);
    for (double x :
         {static_cast<double>(float16::from_bits(b)), static_cast<double>(bfloat16::from_bits(b))}) {
      if (!std::isnan(x)) probes.push_back(x);
    }
  }
  for (double magnitude : probes) {
    for (double x : {magnitude, -magnitude}) {
      const int expected = nearest<T>(x, all);
      if (T(x).bits != expected) FAIL("from double ", x, ": ", T(x).bits, " for ", expected);
      const auto f = static_cast<float>(x);
      if (f == x && T(f).bits != expected) FAIL("from float ", x, ": ", T(f).bits, " for ", expected);
    }
  }
}

TEST_CASE_TEMPLATE("narrow floats: every bit pattern", T, float16, bfloat16, float8e4m3fn, float8e4m3fnuz,
                   float8e5m2, float8e5m2fnuz, float4e2m1) {
  check_decoding<T>();
}

TEST_CASE_TEMPLATE("narrow floats: one rounding, to nearest even", T, float16, bfloat16, float8e4m3fn,
                   float8e4m3fnuz, float8e5m2, float8e5m2fnuz, float4e2m1) {
  check_rounding<T>();
}

TEST_CASE("narrow floats: NaN") {
  CHECK(float16(std::bit_cast<float>(0xffc02000u)).bits == 0xfe01);
  CHECK(float16(std::bit_cast<float>(0x7f800001u)).bits == 0x7e00);
  CHECK(bfloat16(std::bit_cast<float>(0xff810000u)).bits == 0xffc1);
  CHECK(bfloat16(nan).bits == 0x7fc0);
  CHECK(float8e4m3fn(nan).bits == 0x7f);
  CHECK(float8e4m3fn(-nan).bits == 0xff);
  CHECK(float8e5m2(nan).bits == 0x7e);
  CHECK(float8e5m2(-nan).bits == 0xfe);
  CHECK(float8e4m3fnuz(-nan).bits == 0x80);
  CHECK(float8e5m2fnuz(nan).bits == 0x80);
  CHECK(float4e2m1(nan).bits == 0x8);
  CHECK((-float8e5m2fnuz::from_bits(0)).bits == 0);
  CHECK(float8e8m0(nan).bits == 0xff);
}

TEST_CASE("narrow floats: from integers, rounded once") {
  const int64_t tie = (int64_t{1} << 62) + (int64_t{1} << 54);  // between two bfloat16
  CHECK(static_cast<double>(bfloat16(tie)) == 0x1p62);
  CHECK(static_cast<double>(bfloat16(tie + 1)) == 0x1.02p62);
  CHECK(static_cast<double>(bfloat16(-tie - 1)) == -0x1.02p62);
  CHECK(static_cast<double>(bfloat16((uint64_t{1} << 63) + (uint64_t{1} << 55) + 1)) == 0x1.02p63);
  CHECK(static_cast<double>(bfloat16(std::numeric_limits<int64_t>::min())) == -0x1p63);
  CHECK(float16(65519).bits == 0x7bff);
  CHECK(float16(65520).bits == 0x7c00);
  CHECK(float16(-3) == float16(-3.0f));
  CHECK(float4e2m1(100) == float4e2m1(6.0));
}

TEST_CASE_TEMPLATE("arithmetic rounds the exact result", T, float16, bfloat16) {
  uint32_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 1664525u + 1013904223u;
    // Exponents near each other, so that the exact results fit a double.
    const T a = T::from_bits(static_cast<uint16_t>(0x3000 + (state >> 16) % 0x1800));
    state = state * 1664525u + 1013904223u;
    const T b = -T::from_bits(static_cast<uint16_t>(0x3000 + (state >> 16) % 0x1800));
    const auto x = static_cast<double>(a), y = static_cast<double>(b);
    if (a + b != T(x + y) || a - b != T(x - y) || a * b != T(x * y) || a / b != T(x / y)) {
      FAIL("operands ", x, " and ", y);
    }
  }
  T sum(1.5);
  sum += T(2);
  sum *= T(4);
  sum -= T(2);
  sum /= T(3);
  CHECK(sum == T(4));
}

TEST_CASE("narrow floats: order and limits") {
  CHECK(float16(-1.0f) < float16(2.0f));
  CHECK(float16::from_bits(0x8000) == float16(0));
  CHECK(float8e8m0(4.0) > float8e8m0(2.0));
  CHECK(float8e8m0::from_bits(255) != float8e8m0::from_bits(255));
  using F16 = std::numeric_limits<float16>;
  using B16 = std::numeric_limits<bfloat16>;
  CHECK(static_cast<float>(F16::lowest()) == -65504.0f);
  CHECK(static_cast<float>(F16::max()) == 65504.0f);
  CHECK(static_cast<float>(F16::min()) == 0x1p-14f);
  CHECK(static_cast<float>(F16::denorm_min()) == 0x1p-24f);
  CHECK(static_cast<float>(F16::epsilon()) == 0x1p-10f);
  CHECK(static_cast<float>(F16::infinity()) == inf);
  CHECK(std::isnan(static_cast<float>(F16::quiet_NaN())));
  CHECK(F16::max_exponent == 16);
  CHECK(F16::min_exponent == -13);
  CHECK(static_cast<float>(B16::max()) == 0x1.fep127f);
  CHECK(static_cast<float>(B16::epsilon()) == 0x1p-7f);
  CHECK(B16::max_exponent == 128);
  CHECK(static_cast<float>(std::numeric_limits<float8e4m3fn>::max()) == 448.0f);
  CHECK(static_cast<float>(std::numeric_limits<float8e4m3fnuz>::max()) == 240.0f);
  CHECK(static_cast<float>(std::numeric_limits<float8e5m2>::max()) == 57344.0f);
  CHECK(static_cast<float>(std::numeric_limits<float8e5m2fnuz>::lowest()) == -57344.0f);
  CHECK(static_cast<float>(std::numeric_limits<float4e2m1>::max()) == 6.0f);
}

TEST_CASE("float8e8m0: every bit pattern") {
  for (int bits = 0; bits < 255; ++bits) {
    const auto x = float8e8m0::from_bits(static_cast<uint8_t>(bits));
    const double value = std::ldexp(1.0, bits - 127);
    CHECK(static_cast<double>(x) == value);
    CHECK(static_cast<float>(x) == value);
    CHECK(float8e8m0(value).bits == bits);
    CHECK(float8e8m0(static_cast<float>(-value)).bits == bits);
  }
  CHECK(std::isnan(static_cast<float>(float8e8m0::from_bits(255))));
}

// Usable as template arguments, like the plain arithmetic types.
template <auto V>
constexpr auto constant = V;
static_assert(constant<float16(0.5f)> == float16(0.5f));
static_assert(constant<int4(-3)>.value() == -3);
static_assert(constant<float8e8m0(8)> == float8e8m0(8));
static_assert(std::is_trivial_v<float16> && std::is_trivial_v<uint2> && std::is_trivial_v<float8e8m0>);
static_assert(sizeof(bfloat16) == 2 && sizeof(float8e5m2) == 1 && sizeof(int2) == 1);

template <class T>
void check_packed_integer(int lowest, int highest) {
  const int count = highest - lowest + 1;
  for (int i = -40; i <= 40; ++i) {
    const int wrapped = ((i - lowest) % count + count) % count + lowest;
    CHECK(static_cast<int>(T(i)) == wrapped);
    CHECK(T(static_cast<int64_t>(i)).value() == wrapped);
    CHECK(T(i + (i < 0 ? -0.5f : 0.5f)).value() == wrapped);
    CHECK(T(i + 0.0).bits == T(i).bits);
    CHECK(T(i).bits < count);
  }
  for (int a = lowest; a <= highest; ++a) {
    for (int b = lowest; b <= highest; ++b) {
      CHECK((T(a) < T(b)) == (a < b));
      CHECK((T(a) == T(b)) == (a == b));
    }
  }
  CHECK(std::numeric_limits<T>::lowest().value() == lowest);
  CHECK(std::numeric_limits<T>::max().value() == highest);
  CHECK(T(nan).value() == 0);
  CHECK(T(1e30f).value() == 0);
}

TEST_CASE("packed integers wrap") {
  check_packed_integer<int4>(-8, 7);
  check_packed_integer<uint4>(0, 15);
  check_packed_integer<int2>(-2, 1);
  check_packed_integer<uint2>(0, 3);
}

static_assert(std::random_access_iterator<PackedPtr<int4>>);
static_assert(std::random_access_iterator<PackedPtr<const uint2>>);
static_assert(std::indirectly_writable<PackedPtr<float4e2m1>, float4e2m1>);
static_assert(std::is_convertible_v<PackedPtr<int2>, PackedPtr<const int2>>);
static_assert(!std::is_convertible_v<PackedPtr<const int2>, PackedPtr<int2>>);
static_assert(std::is_trivially_copyable_v<PackedPtr<int4>>);

TEST_CASE_TEMPLATE("PackedPtr", T, int4, uint4, int2, uint2, float4e2m1) {
  constexpr int per_byte = PackedPtr<T>::per_byte, width = 8 / per_byte;
  uint8_t bytes[16];
  std::memset(bytes, 0xff, sizeof bytes);
  const PackedPtr<T> p(bytes);
  const PackedPtr<const T> read = p;
  const int n = 15 * per_byte - 1;
  auto pattern = [](int i) {
    return T::from_bits(static_cast<uint8_t>((i * 7 + i / 5) & ((1 << width) - 1)));
  };
  for (int i = 0; i < n; ++i) p[i] = pattern(i);
  for (int i = 0; i < n; ++i) {
    CHECK(read[i] == pattern(i));
    CHECK(((bytes[i / per_byte] >> (i % per_byte * width)) & ((1 << width) - 1)) == pattern(i).bits);
    CHECK(*(read + i) == *(p + n - (n - i)));
    CHECK((read + i) - read == i);
    CHECK(load_element(read, i) == pattern(i));
  }
  CHECK((bytes[14] >> (8 - width)) == (1 << width) - 1);  // past the end: untouched
  CHECK(bytes[15] == 0xff);

  CHECK((p + n).byte() == bytes + 14);
  CHECK((p + n).slot() == per_byte - 1);
  CHECK(p + 5 - 5 == p);
  CHECK(p + 1 > p);
  CHECK(PackedPtr<T>(bytes + 1) == p + per_byte);
  CHECK(!PackedPtr<T>(nullptr));
  CHECK(static_cast<float>(p[1]) == static_cast<float>(pattern(1)));

  std::vector<float> sorted;
  for (int i = 0; i < n; ++i) sorted.push_back(static_cast<float>(read[i]));
  std::sort(sorted.begin(), sorted.end());
  std::sort(p, p + n);
  for (int i = 0; i < n; ++i) CHECK(static_cast<float>(read[i]) == sorted[i]);

  p[0] = p[n - 1];
  CHECK(p[0] == p[n - 1]);
  swap(p[0], p[1]);
  CHECK(p[1] == p[n - 1]);
  store_element(p, 3, pattern(2));
  CHECK(p[3] == pattern(2));
}

constexpr int sum_packed() {
  uint8_t bytes[2] = {};
  PackedPtr<int4> p(bytes);
  for (int i = 0; i < 4; ++i) p[i] = int4(i - 2);
  return std::accumulate(p, p + 4, 0, [](int sum, int4 x) { return sum + x.value(); });
}
static_assert(sum_packed() == -2);

TEST_CASE("DType: ONNX's numbers and names") {
  struct Row {
    int number;
    std::string_view name;
    int bits;
    bool is_float, is_integer, is_signed;
  };
  const Row rows[] = {
      {1, "float", 32, true, false, true},         {2, "uint8", 8, false, true, false},
      {3, "int8", 8, false, true, true},           {4, "uint16", 16, false, true, false},
      {5, "int16", 16, false, true, true},         {6, "int32", 32, false, true, true},
      {7, "int64", 64, false, true, true},         {8, "string", 0, false, false, false},
      {9, "bool", 8, false, false, false},         {10, "float16", 16, true, false, true},
      {11, "double", 64, true, false, true},       {12, "uint32", 32, false, true, false},
      {13, "uint64", 64, false, true, false},      {14, "complex64", 64, false, false, true},
      {15, "complex128", 128, false, false, true}, {16, "bfloat16", 16, true, false, true},
      {17, "float8e4m3fn", 8, true, false, true},  {18, "float8e4m3fnuz", 8, true, false, true},
      {19, "float8e5m2", 8, true, false, true},    {20, "float8e5m2fnuz", 8, true, false, true},
      {21, "uint4", 4, false, true, false},        {22, "int4", 4, false, true, true},
      {23, "float4e2m1", 4, true, false, true},    {24, "float8e8m0", 8, true, false, false},
      {25, "uint2", 2, false, true, false},        {26, "int2", 2, false, true, true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const auto d = static_cast<DType>(row.number);
    CHECK(dtype_from_onnx(row.number) == d);
    CHECK(name_of(d) == row.name);
    CHECK(dtype_from_name(row.name) == d);
    CHECK(bits_of(d) == row.bits);
    CHECK(is_packed(d) == (row.bits == 2 || row.bits == 4));
    CHECK(is_float(d) == row.is_float);
    CHECK(is_integer(d) == row.is_integer);
    CHECK(is_signed(d) == row.is_signed);
    int calls = 0;
    visit_dtype(d, [&]<class T>() {
      ++calls;
      CHECK(dtype_of<T> == d);
      CHECK(PackedElement<T> == is_packed(d));
      if (!is_packed(d) && d != DType::string) CHECK(sizeof(T) * 8 == static_cast<size_t>(row.bits));
    });
    CHECK(calls == 1);
  }
  for (int64_t number : {int64_t{-1}, int64_t{0}, int64_t{27}, int64_t{257}, int64_t{1} << 40}) {
    CHECK(dtype_from_onnx(number) == DType::undefined);
  }
  CHECK(dtype_from_name("float32") == DType::undefined);
  CHECK(dtype_from_name("undefined") == DType::undefined);
  CHECK(name_of(static_cast<DType>(200)) == "undefined");
}

static_assert(all_types::size == 26 && all_types::contains<int2> && !all_types::contains<char>);
static_assert(all_types::has(DType::string) && !all_types::has(DType::undefined));
static_assert(std::is_same_v<cpp_type<DType::complex64>, std::complex<float>>);
static_assert(Element<bool> && !Element<const float> && !Element<char> &&
              dtype_of<void*> == DType::undefined);
static_assert(NarrowFloatElement<float4e2m1> && !NarrowFloatElement<float> && !NarrowFloatElement<int4>);
static_assert(std::is_same_v<element_pointer_t<const float>, const float*>);
static_assert(std::is_same_v<element_pointer_t<const int4>, PackedPtr<const int4>>);
static_assert(std::is_same_v<element_reference_t<std::string>, std::string&>);

TEST_CASE("dispatch over some types") {
  int size = 0;
  auto record = [&]<class T>() { size = sizeof(T); };
  CHECK(visit_types<float, int64_t>(DType::int64, record));
  CHECK(size == 8);
  CHECK(!visit_types<float, int64_t>(DType::int32, record));
  CHECK(!visit_types<>(DType::int32, record));
  CHECK(visit_types(TypeList<bool>{}, DType::bool_, record));
  CHECK(size == 1);
  CHECK_THROWS_AS(visit_dtype(DType::undefined, record), Error);
  CHECK_THROWS_AS(visit_dtype(static_cast<DType>(99), record), Error);
}

TEST_CASE("bytes of an array") {
  struct Row {
    int64_t n;
    DType type;
    int64_t bytes;
  };
  const int64_t most = std::numeric_limits<int64_t>::max();
  const Row rows[] = {{0, DType::int4, 0},
                      {1, DType::int4, 1},
                      {5, DType::uint4, 3},
                      {4, DType::int2, 1},
                      {5, DType::uint2, 2},
                      {3, DType::float4e2m1, 2},
                      {3, DType::float64, 24},
                      {2, DType::complex128, 32},
                      {most, DType::int8, most},
                      {most, DType::int4, most / 2 + 1},
                      {2, DType::string, 2 * sizeof(std::string)}};
  for (const Row& row : rows) CHECK(packed_bytes(row.n, row.type) == row.bytes);
  CHECK_THROWS_AS(packed_bytes(most / 4 + 1, DType::float32), Error);
  CHECK_THROWS_AS(packed_bytes(most / 8, DType::string), Error);
}

TEST_CASE("element pointers into raw memory") {
  alignas(8) uint8_t bytes[16] = {0x21, 0x43};
  const void* raw = bytes;
  CHECK(element_pointer<uint4>(raw)[3].operator uint4() == uint4(4));
  CHECK(element_pointer<uint16_t>(raw)[0] == 0x4321);
  element_pointer<uint4>(static_cast<void*>(bytes))[0] = uint4(9);
  CHECK(bytes[0] == 0x29);
}

}  // namespace
}  // namespace tenon

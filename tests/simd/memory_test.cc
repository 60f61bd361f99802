// Partial loads and stores access the requested elements and nothing else: operands adjoin pages that may not
// be accessed.
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "tenon/simd/batch.hpp"
#include "tenon/simd/half.hpp"

using namespace tenon;

namespace {

using simd::Native;

/// A page of memory between two that may be neither read nor written.
class GuardedPage {
 public:
  GuardedPage() {
    memory_ = static_cast<char*>(mmap(nullptr, 3 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(memory_ != MAP_FAILED);
    REQUIRE(mprotect(memory_ + size, size, PROT_READ | PROT_WRITE) == 0);
  }
  ~GuardedPage() { munmap(memory_, 3 * size); }
  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;

  template <class T>
  T* begin() {
    return reinterpret_cast<T*>(memory_ + size);
  }
  template <class T>
  T* end() {
    return reinterpret_cast<T*>(memory_ + 2 * size);
  }
  /// Numbers from 1 on in order, at the page's begin and up to its end; 0 in between.
  template <class T>
  void number() {
    std::memset(begin<T>(), 0, size);
    for (int i = 0; i < count; ++i) begin<T>()[i] = end<T>()[i - count] = static_cast<T>(i + 1);
  }
  /// More numbers than two batches have; each fits an int8 but for the last ones, which wrap.
  static constexpr int count = 128;

 private:
  const std::size_t size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  char* memory_ = nullptr;
};

/// Checks that lane i is expected(i).
template <class T, class F>
void check_lanes(const simd::batch<T, Native>& v, F expected) {
  alignas(64) T lane[simd::lanes<T, Native>];
  simd::storeu(lane, v);
  for (int i = 0; i < simd::lanes<T, Native>; ++i) {
    CAPTURE(i);
    CHECK(lane[i] == static_cast<T>(expected(i)));
  }
}

#define EVERY_TYPE int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, float, double

}  // namespace

TEST_CASE_TEMPLATE("load_n reads n numbers", T, EVERY_TYPE) {
  GuardedPage page;
  page.number<T>();
  for (int n = 0; n <= simd::lanes<T, Native>; ++n) {
    CAPTURE(n);
    const T* const last = page.end<T>() - n;
    const T* const first = page.begin<T>();
    check_lanes<T>(simd::load_n<Native>(last, n), [&](int i) { return i < n ? last[i] : T{0}; });
    check_lanes<T>(simd::load_n<Native>(first, n), [&](int i) { return i < n ? first[i] : T{0}; });
  }
}

TEST_CASE_TEMPLATE("load_half reads half of the lanes", T, int8_t, uint8_t, int16_t, uint16_t, int32_t,
                   uint32_t, int64_t, uint64_t, float) {
  constexpr int half = simd::lanes<T, Native> / 2;
  GuardedPage page;
  page.number<T>();
  for (const T* p : {page.begin<T>(), page.end<T>() - half})
    check_lanes<T>(simd::load_half<Native>(p), [&](int i) { return i < half ? p[i] : T{0}; });
}

TEST_CASE_TEMPLATE("store_n writes n numbers", T, EVERY_TYPE) {
  constexpr int width = simd::lanes<T, Native>;
  GuardedPage page;
  alignas(64) T lane[width];
  for (int i = 0; i < width; ++i) lane[i] = static_cast<T>(-i - 1);
  const auto v = simd::loadu<Native>(lane);
  for (int n = 0; n <= width; ++n) {
    CAPTURE(n);
    page.number<T>();
    simd::store_n(page.begin<T>(), v, n);
    simd::store_n(page.end<T>() - n, v, n);
    int wrong = 0;
    for (int i = 0; i < page.count; ++i) {
      const int from_end = i - (page.count - n);
      wrong += page.begin<T>()[i] != (i < n ? lane[i] : static_cast<T>(i + 1));
      wrong += page.end<T>()[i - page.count] != (from_end >= 0 ? lane[from_end] : static_cast<T>(i + 1));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE_TEMPLATE("load_masked reads the lanes whose bits are set", T, EVERY_TYPE) {
  constexpr int width = simd::lanes<T, Native>;
  constexpr uint64_t whole = ~uint64_t{0} >> (64 - width);
  GuardedPage page;
  page.number<T>();
  for (int n = 0; n <= width; ++n) {
    CAPTURE(n);
    // The first n lanes are the last of the page; the last n lanes are its first, and p lies before it.
    const T* const last = page.end<T>() - n;
    const T* const first = page.begin<T>();
    const uint64_t low = n == 0 ? 0 : whole >> (width - n);
    check_lanes<T>(simd::load_masked<Native>(last, low, T{77}),
                   [&](int i) { return i < n ? last[i] : T{77}; });
    const int before = width - n;
    const uint64_t high = whole & ~(n == width ? 0 : whole >> n);
    check_lanes<T>(simd::load_masked<Native>(first - before, high, T{77}),
                   [&](int i) { return i >= before ? first[i - before] : T{77}; });
  }
  // Every lane alone, at both ends of the page.
  for (int k = 0; k < width; ++k) {
    CAPTURE(k);
    for (const T* p : {static_cast<const T*>(page.begin<T>()), static_cast<const T*>(page.end<T>() - 1)})
      check_lanes<T>(simd::load_masked<Native>(p - k, uint64_t{1} << k, T{77}),
                     [&](int i) { return i == k ? *p : T{77}; });
  }
}

TEST_CASE_TEMPLATE("load_even_masked and load_even_n read every second number", T, float, double) {
  constexpr int width = simd::lanes<T, Native>;
  constexpr uint64_t whole = ~uint64_t{0} >> (64 - width);
  GuardedPage page;
  page.number<T>();
  for (int n = 1; n <= width; ++n) {
    CAPTURE(n);
    const int span = 2 * n - 1;
    const T* const first = page.begin<T>();
    for (const T* p : {first, static_cast<const T*>(page.end<T>() - span)})
      check_lanes<T>(simd::load_even_n<Native>(p, n), [&](int i) { return i < n ? p[2 * i] : T{0}; });
    // The last n lanes, p before the page.
    const int before = width - n;
    const uint64_t masks = simd::even_masks<T, Native>(whole & ~(n == width ? 0 : whole >> n));
    for (const T* p : {first, static_cast<const T*>(page.end<T>() - span)})
      check_lanes<T>(simd::load_even_masked<Native>(p - 2 * before, masks),
                     [&](int i) { return i >= before ? p[2 * (i - before)] : T{0}; });
  }
  for (int k = 0; k < width; ++k) {
    CAPTURE(k);
    for (const T* p : {static_cast<const T*>(page.begin<T>()), static_cast<const T*>(page.end<T>() - 1)})
      check_lanes<T>(simd::load_even_masked<Native>(p - 2 * k, simd::even_masks<T, Native>(uint64_t{1} << k)),
                     [&](int i) { return i == k ? *p : T{0}; });
  }
}

TEST_CASE("pairs of numbers are split and joined, lanes shifted and picked") {
  using B = simd::batch<float, Native>;
  constexpr int width = simd::lanes<float, Native>;
  alignas(64) float from[2 * width];
  alignas(64) uint32_t last[width];
  for (int i = 0; i < 2 * width; ++i) from[i] = static_cast<float>(i);
  for (int i = 0; i < width; ++i) last[i] = static_cast<uint32_t>(width - 1 - i / 2);
  const B x = simd::loadu<Native>(from), y = simd::loadu<Native>(from + width);
  B even, odd, low, high;
  simd::split_pairs(x, y, even, odd);
  check_lanes<float>(even, [](int i) { return 2 * static_cast<float>(i); });
  check_lanes<float>(odd, [](int i) { return 2 * static_cast<float>(i) + 1; });
  simd::join_pairs(even, odd, low, high);
  check_lanes<float>(low, [&](int i) { return from[i]; });
  check_lanes<float>(high, [&](int i) { return from[width + i]; });
  for (int n = 0; n < width; ++n)
    check_lanes<float>(simd::shift_in<width - 1>(x, y, n), [&](int i) { return from[width - n + i]; });
  const auto index = simd::batch<uint32_t, Native>::load_aligned(last);
  check_lanes<float>(simd::pick_lanes(x, index), [&](int i) { return from[width - 1 - i / 2]; });
}

TEST_CASE("conversions of half-precision numbers read and write n of them") {
  GuardedPage in, out;
  const auto check = [&]<class From, class To>(auto convert, From one, To converted) {
    for (int n = 0; n <= 40; ++n)
      for (const bool at_end : {false, true}) {
        CAPTURE(n);
        CAPTURE(at_end);
        From* const from = at_end ? in.end<From>() - n : in.begin<From>();
        To* const to = at_end ? out.end<To>() - n : out.begin<To>();
        out.number<To>();
        std::fill_n(from, n, one);
        convert(from, to, n);
        CHECK(std::count(to, to + n, converted) == n);
        // The neighbour within the page is still the number that it was.
        CHECK((at_end ? to[-1] == static_cast<To>(out.count - n) : to[n] == static_cast<To>(n + 1)));
      }
  };
  check([](auto from, auto to, int64_t n) { simd::f16_to_f32<Native>(from, to, n); }, uint16_t{0x3e00}, 1.5f);
  check([](auto from, auto to, int64_t n) { simd::f32_to_f16<Native>(from, to, n); }, 1.5f, uint16_t{0x3e00});
  check([](auto from, auto to, int64_t n) { simd::bf16_to_f32<Native>(from, to, n); }, uint16_t{0x3fc0},
        1.5f);
  check([](auto from, auto to, int64_t n) { simd::f32_to_bf16<Native>(from, to, n); }, 1.5f,
        uint16_t{0x3fc0});
}

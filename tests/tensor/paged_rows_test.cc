#include "tenon/tensor/paged_rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace tenon {
namespace {

// Steps [at, at + steps) of two entries with three heads of four floats, number (b, h, s, i) being
// 1000 s + 100 b + 10 h + i, dense or with steps before heads.
std::vector<float> rows(int64_t at, int64_t steps, bool heads_first) {
  std::vector<float> x(static_cast<std::size_t>(2 * 3 * steps * 4));
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 3; ++h)
      for (int64_t s = 0; s < steps; ++s)
        for (int64_t i = 0; i < 4; ++i)
          x[static_cast<std::size_t>(
              ((b * (heads_first ? 3 : steps) + (heads_first ? h : s)) * (heads_first ? steps : 3) +
               (heads_first ? s : h)) *
                  4 +
              i)] = static_cast<float>(1000 * (at + s) + 100 * b + 10 * h + i);
  return x;
}
void append(PagedRows& r, int64_t at, int64_t steps, bool heads_first = true) {
  r.expect(DType::float32, 2, 3, 4);
  const std::vector<float> x = rows(at, steps, heads_first);
  r.write(at, steps, x.data(),
          heads_first ? RowPlaces{3 * steps * 4, steps * 4, 4} : RowPlaces{steps * 3 * 4, 4, 3 * 4});
}
// Whether steps [begin, end) are there, with the numbers of `rows`, from page to page.
void check_steps(const PagedRows& r, int64_t begin, int64_t end) {
  int64_t next = begin;
  r.for_each_page([&](const void* data, int64_t first, int64_t steps) {
    CHECK(first == next);
    next += steps;
    const RowPlaces p = r.places();
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < 3; ++h)
        for (int64_t s = 0; s < steps; ++s)
          for (int64_t i = 0; i < 4; ++i)
            REQUIRE(static_cast<const float*>(data)[b * p.batch + h * p.head + s * p.step + i] ==
                    static_cast<float>(1000 * (first + s) + 100 * b + 10 * h + i));
  });
  CHECK(next == end);
}

}  // namespace

TEST_CASE("PagedRows: steps lie where they were written, whatever the pages") {
  for (int64_t page : {1, 2, 3, 8, 100})
    for (bool heads_first : {true, false}) {
      PagedRows r(page);
      append(r, 0, 5, heads_first);
      append(r, 5, 1, heads_first);
      append(r, 6, 0, heads_first);
      append(r, 6, 7, heads_first);
      CHECK(r.end() == 13);
      check_steps(r, 0, 13);
    }
}

TEST_CASE("PagedRows: growth keeps pages in place") {
  PagedRows r(4);
  append(r, 0, 3);
  const void* first = nullptr;
  r.for_each_page([&](const void* data, int64_t, int64_t) { first = data; });
  for (int64_t s = 3; s < 50; ++s) append(r, s, 1);
  r.for_each_page([&](const void* data, int64_t s, int64_t) { CHECK((s != 0 || data == first)); });
  CHECK(r.bytes() == 13 * 2 * 3 * 4 * 4 * 4);
}

TEST_CASE("PagedRows: copies share pages until they are written") {
  PagedRows a(4);
  append(a, 0, 10);
  PagedRows b = a;
  append(a, 10, 2);  // in the page that both have
  check_steps(a, 0, 12);
  check_steps(b, 0, 10);
  b.truncate(5);
  append(b, 5, 6);
  check_steps(b, 0, 11);
  check_steps(a, 0, 12);
}

TEST_CASE("PagedRows: truncation and release") {
  PagedRows r(4);
  append(r, 0, 10);
  r.truncate(6);
  check_steps(r, 0, 6);
  append(r, 6, 8);
  check_steps(r, 0, 14);
  r.release(9);
  CHECK(r.begin() == 8);
  check_steps(r, 8, 14);
  CHECK(r.bytes() == 2 * 2 * 3 * 4 * 4 * 4);
  append(r, 14, 3);
  check_steps(r, 8, 17);
  r.release(1);
  CHECK(r.begin() == 8);
  r.truncate(3);
  CHECK(r.end() == 8);
}

TEST_CASE_TEMPLATE("PagedRows: codes are off by half of their scale at most", T, float, double, float16,
                   bfloat16) {
  constexpr int64_t heads = 3, size = 5, steps = 11;
  std::vector<T> x(heads * steps * size);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(static_cast<compute_t<T>>(static_cast<int>(i * 7919 % 2003) - 1000) *
                          static_cast<compute_t<T>>(i % 4 == 0 ? 0.25 : 0.001));
  std::fill_n(x.begin() + 4 * size, size, static_cast<T>(compute_t<T>{0}));
  const auto write = [&](PagedRows& r, int64_t from, int64_t to, bool heads_first) {
    r.expect(dtype_of<T>, 1, heads, size);
    std::vector<T> part;
    for (int64_t a = 0; a < (heads_first ? heads : to - from); ++a)
      for (int64_t b = 0; b < (heads_first ? to - from : heads); ++b) {
        const int64_t row = (heads_first ? a * steps + b : b * steps + a) + from;
        part.insert(part.end(), x.begin() + row * size, x.begin() + (row + 1) * size);
      }
    r.write(from, to - from, part.data(),
            heads_first ? RowPlaces{0, (to - from) * size, size} : RowPlaces{0, size, heads * size});
  };
  const auto codes_of = [&](const PagedRows& r) {
    std::vector<std::pair<std::vector<int8_t>, float>> all(heads * steps);
    r.for_each_page([&](const void* data, int64_t first, int64_t count) {
      const auto* const codes = static_cast<const int8_t*>(data);
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t s = 0; s < count; ++s) {
          const int64_t row = h * r.page_steps() + s;
          all[static_cast<std::size_t>(h * steps + first + s)] = {
              {codes + row * size, codes + (row + 1) * size}, r.scales(data)[row]};
        }
    });
    return all;
  };
  PagedRows whole(100, default_allocator(), DType::int8);
  write(whole, 0, steps, true);
  CHECK(whole.dtype() == dtype_of<T>);
  CHECK(whole.stored() == DType::int8);
  CHECK(whole.bytes() == (heads * 100 * size + 63) / 64 * 64 + heads * 100 * 4);
  const auto expected = codes_of(whole);
  for (std::size_t row = 0; row < expected.size(); ++row) {
    const auto& [codes, scale] = expected[row];
    double most = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const double exact = static_cast<double>(static_cast<compute_t<T>>(x[row * size + i]));
      CHECK(std::abs(codes[i] * static_cast<double>(scale) - exact) <= 0.5001 * static_cast<double>(scale));
      most = std::max(most, std::abs(exact));
    }
    CHECK(static_cast<double>(scale) == doctest::Approx(most / 127));
    CHECK((most == 0 || std::ranges::any_of(codes, [](int c) { return std::abs(c) == 127; })));
  }
  for (int64_t page : {1, 4})
    for (bool heads_first : {true, false}) {
      PagedRows r(page, default_allocator(), DType::int8);
      write(r, 0, 6, heads_first);
      PagedRows fork = r;
      write(r, 6, steps, heads_first);
      CHECK(codes_of(r) == expected);
      write(fork, 6, steps, !heads_first);
      CHECK(codes_of(fork) == expected);
    }
}

TEST_CASE("PagedRows: vectors with numbers that are not finite have no codes") {
  for (float odd : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                    std::numeric_limits<float>::quiet_NaN()}) {
    PagedRows r(4, default_allocator(), DType::int8);
    r.expect(DType::float32, 1, 1, 3);
    const float x[] = {1, odd, 2, 3, 4, -5};
    r.write(0, 2, x, {6, 6, 3});
    r.for_each_page([&](const void* data, int64_t, int64_t) {
      CHECK(std::isnan(r.scales(data)[0]));
      CHECK(static_cast<const int8_t*>(data)[0] == 0);
      CHECK(r.scales(data)[1] == 5.0f / 127);
      CHECK(static_cast<const int8_t*>(data)[5] == -127);
    });
  }
}

TEST_CASE("PagedRows: what does not fit is an error") {
  CHECK_THROWS_AS(PagedRows(0), Error);
  CHECK_THROWS_WITH_AS(PagedRows(1, default_allocator(), DType::uint8),
                       "cache: pages hold the type that is written, or int8, not uint8", Error);
  PagedRows coded(4, default_allocator(), DType::int8);
  CHECK_THROWS_WITH_AS(coded.expect(DType::int32, 1, 1, 1), "cache: it cannot hold codes of int32", Error);
  PagedRows r(4);
  append(r, 0, 2);
  CHECK_THROWS_WITH_AS(r.expect(DType::float16, 2, 3, 4), "cache: it holds float, not float16", Error);
  CHECK_THROWS_WITH_AS(r.expect(DType::float32, 2, 3, 5), "cache: it holds steps of (2,3,4), not (2,3,5)",
                       Error);
  const float x = 0;
  CHECK_THROWS_WITH_AS(r.write(3, 1, &x, {}), "cache: step 3 is not among steps 0 to 2", Error);
  PagedRows packed;
  CHECK_THROWS_WITH_AS(packed.expect(DType::int4, 1, 1, 1), "cache: it cannot hold int4", Error);
  CHECK_THROWS_AS(packed.expect(DType::float32, int64_t{1} << 40, int64_t{1} << 40, 1), Error);
}

}  // namespace tenon

#include "tenon/tensor/shape.hpp"

#include <doctest/doctest.h>

namespace tenon {

TEST_CASE("Extents: the number of elements") {
  struct Row {
    Extents extents;
    int64_t count;
  } rows[] = {
      {{}, 1},
      {{0}, 0},
      {{7}, 7},
      {{2, 3, 4}, 24},
      {{INT64_MAX, 0}, 0},
      {{INT64_MAX, INT64_MAX, 0}, 0},
      {{INT64_MAX, 1}, INT64_MAX},
      {{int64_t{1} << 31, int64_t{1} << 31}, int64_t{1} << 62},
      {Extents::filled(16, 2), 65536},
  };
  for (const Row& row : rows) CHECK(element_count(row.extents) == row.count);
}

TEST_CASE("Extents: what cannot be") {
  struct Row {
    Extents extents;
    std::string_view text;
  } rows[] = {
      {{-1}, "negative extent in (-1)"},     {{0, -5}, "negative extent in (0,-5)"},
      {{INT64_MIN}, "negative extent"},      {{INT64_MAX, 2}, "extents (9223372036854775807,2) overflow"},
      {Extents::filled(16, 16), "overflow"},
  };
  for (const Row& row : rows) {
    try {
      element_count(row.extents);
      FAIL_CHECK(to_string(row.extents));
    } catch (const Error& e) {
      CHECK(e.code() == ErrorCode::invalid_shape);
      CHECK(e.message().find(row.text) != std::string::npos);
    }
  }
  CHECK_THROWS_AS(Extents::filled(17, 1), Error);
}

TEST_CASE("Extents: axes") {
  const Extents e{2, 3, 5};
  CHECK(extent_at(e, 0) == 2);
  CHECK(extent_at(e, -1) == 5);
  CHECK(extent_at(e, -3) == 2);
  CHECK_THROWS_WITH_AS(extent_at(e, 3), "axis 3 of (2,3,5)", Error);
  CHECK_THROWS_AS(extent_at(e, -4), Error);
  CHECK_THROWS_AS(extent_at({}, 0), Error);
  const AxisSplit s = split_at(e, 1);
  CHECK(s.outer == 2);
  CHECK(s.extent == 3);
  CHECK(s.inner == 5);
  CHECK(split_at({}, 0).extent == 1);
  CHECK(extent_product(Extents{INT64_MAX, 2, 0}) == 0);
}

TEST_CASE("Dim: arithmetic of known, symbolic and unknown extents") {
  const Dim n = Dim::symbol(1), m = Dim::symbol(2), u = Dim::unknown(), big = INT64_MAX;
  CHECK(n.symbolic());
  CHECK_FALSE(n.known());
  CHECK(n.symbol() == 1);
  CHECK(Dim::symbol(INT32_MAX).symbol() == INT32_MAX);
  CHECK(Dim::symbol(INT32_MAX).symbolic());
  CHECK_FALSE(u.known());
  CHECK_FALSE(u.symbolic());
  CHECK(Dim(-1).known());
  CHECK(Dim(int64_t{-1} << 40).known());
  CHECK_FALSE(Dim(INT64_MIN).known());
  CHECK_FALSE(Dim(INT64_MIN).symbolic());

  CHECK(n.same(n));
  CHECK_FALSE(n.same(m));
  CHECK_FALSE(u.same(u));
  CHECK_FALSE(n.differs(m));
  CHECK(Dim(2).differs(3));
  CHECK_FALSE(Dim(2).differs(n));

  struct Row {
    Dim result, expected;
  } rows[] = {
      {Dim(2) + 3, 5},   {n + 0, n},           {Dim(0) + n, n},
      {n + 1, u},        {big + 1, u},         {Dim(2) - 3, -1},
      {n - 0, n},        {n - n, 0},           {n - m, u},
      {u - u, u},        {Dim(-2) - big, u},   {Dim(2) * 3, 6},
      {n * 1, n},        {Dim(1) * n, n},      {n * 0, 0},
      {Dim(0) * u, 0},   {n * 2, u},           {big * 2, u},
      {Dim(7) / 2, 3},   {Dim(-7) / 2, -3},    {n / 1, n},
      {n / n, 1},        {Dim(0) / Dim(0), u}, {Dim(5) / 0, u},
      {Dim(5) / -1, -5}, {u / u, u},           {Dim(-INT64_MAX) - 1, u},
  };
  int k = 0;
  for (const Row& row : rows) {
    CAPTURE(k++);
    CHECK(row.result == row.expected);
  }
}

TEST_CASE("Dims: ranks and products") {
  const Dim n = Dim::symbol(1), u = Dim::unknown();
  const Dims unranked;
  CHECK_FALSE(unranked.ranked());
  CHECK_FALSE(unranked.known());
  CHECK_FALSE(unranked.count().known());
  CHECK(unranked == Dims{});
  CHECK(Dims::of_rank(0).known());
  CHECK(Dims::of_rank(0).count().is(1));
  CHECK(Dims{2, 3}.count().is(6));
  CHECK(Dims{n, 3}.count() == u);
  CHECK(Dims{n, 1}.count().same(n));
  CHECK(Dims{n, 3, 0}.count().is(0));
  CHECK(Dims{u, 4, 5}.product(1, 3).is(20));
  CHECK(Dims{INT64_MAX, 3}.count() == u);
  CHECK_FALSE(Dims{n, 3}.known());
  CHECK(Dims{2, 3}.extents() == Extents{2, 3});
  CHECK(Dims(Extents{4}) == Dims{4});

  Dims d{1, 2};
  d.insert(1, n);
  d.push_back(5);
  d.erase(0);
  CHECK(d == Dims{n, 2, 5});

  CHECK(common(Dims{2, n, 3}, Dims{2, n, 4}) == Dims{2, n, u});
  CHECK(common(Dims{2}, Dims{2, 3}) == unranked);
  CHECK(common(unranked, Dims{2}) == unranked);

  CHECK(Dims{2, 3}.fits(Extents{2, 3}));
  CHECK(Dims{n, u}.fits(Extents{2, 3}));
  CHECK(Dims{n, 3}.fits(Dims{2, n}));
  CHECK(Dims{}.fits(unranked));
  CHECK(unranked.fits(Dims{2}));
  CHECK(Dims{2}.fits(unranked));
  CHECK_FALSE(Dims{2, n}.fits(Extents{3, 3}));
  CHECK_FALSE(Dims{n}.fits(Extents{}));
  CHECK_FALSE(Dims{n}.fits(Extents{2, 3}));
}

TEST_CASE("Shape: constants of the type") {
  static_assert(Shape<>::rank == 0);
  static_assert(Shape<2, dyn>::rank == 2 && Shape<2, dyn>::extents[1] == dyn);
  static_assert(AnyShape::rank < 0);
  static_assert(element_count(Extents{2, 3}) == 6);
  static_assert((Dim(2) * Dim::symbol(3)) == Dim::unknown());
}

}  // namespace tenon

#include "tenon/op/tensor/unique.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Unique: cases") {
  const float nan = std::nanf("");
  const Value x = t<float>({6}, {2, 1, 1, 3, 4, 3});
  const Value m = t<float>({3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4});
  const Value cube = t<float>({2, 4, 2}, {1, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1, 2, 1, 0, 1});
  using i64 = int64_t;
  using U = op::Unique;
  struct Row {
    U op;
    Value x, y, indices, inverse, counts;
  } rows[] = {
      {{.sorted = 0},
       x,
       t<float>({4}, {2, 1, 3, 4}),
       t<i64>({4}, {0, 1, 3, 4}),
       t<i64>({6}, {0, 1, 1, 2, 3, 2}),
       t<i64>({4}, {1, 2, 2, 1})},
      {{},
       x,
       t<float>({4}, {1, 2, 3, 4}),
       t<i64>({4}, {1, 0, 3, 4}),
       t<i64>({6}, {1, 0, 0, 2, 3, 2}),
       t<i64>({4}, {2, 1, 2, 1})},
      {{.axis = 0},
       m,
       t<float>({2, 3}, {1, 0, 0, 2, 3, 4}),
       t<i64>({2}, {0, 2}),
       t<i64>({3}, {0, 0, 1}),
       t<i64>({2}, {2, 1})},
      {{.axis = 1},
       cube,
       t<float>({2, 3, 2}, {0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2, 1}),
       t<i64>({3}, {1, 0, 2}),
       t<i64>({4}, {1, 0, 2, 0}),
       t<i64>({3}, {2, 1, 1})},
      {{.axis = -2, .sorted = 0},
       cube,
       t<float>({2, 3, 2}, {1, 1, 0, 1, 2, 1, 1, 1, 0, 1, 2, 1}),
       t<i64>({3}, {0, 1, 2}),
       t<i64>({4}, {0, 1, 2, 1}),
       t<i64>({3}, {1, 2, 1})},
      {{.axis = -1},
       t<i64>({2, 3}, {1, 0, 1, 2, 5, 2}),
       t<i64>({2, 2}, {0, 1, 5, 2}),
       t<i64>({2}, {1, 0}),
       t<i64>({3}, {1, 0, 1}),
       t<i64>({2}, {1, 2})},
      // Without an axis a tensor is a vector.
      {{},
       t<int8_t>({2, 2}, {1, -1, 1, -1}),
       t<int8_t>({2}, {-1, 1}),
       t<i64>({2}, {1, 0}),
       t<i64>({4}, {1, 0, 1, 0}),
       t<i64>({2}, {2, 2})},
      {{}, t<i64>({}, {7}), t<i64>({1}, {7}), t<i64>({1}, {0}), t<i64>({1}, {0}), t<i64>({1}, {1})},
      {{}, t<i64>({1}, {0}), t<i64>({1}, {0}), t<i64>({1}, {0}), t<i64>({1}, {0}), t<i64>({1}, {1})},
      // NaNs are one, and the last; so are zeros of both signs.
      {{},
       t<float>({5}, {nan, 1, -nan, -0.0f, 0}),
       t<float>({3}, {0, 1, nan}),
       t<i64>({3}, {3, 1, 0}),
       t<i64>({5}, {2, 1, 2, 0, 0}),
       t<i64>({3}, {2, 1, 2})},
      {{.axis = 0},
       t<double>({2, 2}, {nan, 1, nan, 1}),
       t<double>({1, 2}, {nan, 1}),
       t<i64>({1}, {0}),
       t<i64>({2}, {0, 0}),
       t<i64>({1}, {2})},
      {{},
       t<std::string>({4}, {"b", "a", "", "b"}),
       t<std::string>({3}, {"", "a", "b"}),
       t<i64>({3}, {2, 1, 0}),
       t<i64>({4}, {2, 1, 0, 2}),
       t<i64>({3}, {1, 1, 2})},
      {{.axis = 0, .sorted = 0},
       t<std::string>({2, 2}, {"b", "a", "a", "b"}),
       t<std::string>({2, 2}, {"b", "a", "a", "b"}),
       t<i64>({2}, {0, 1}),
       t<i64>({2}, {0, 1}),
       t<i64>({2}, {1, 1})},
      {{},
       t<bool>({3}, {true, false, true}),
       t<bool>({2}, {false, true}),
       t<i64>({2}, {1, 0}),
       t<i64>({3}, {1, 0, 1}),
       t<i64>({2}, {1, 2})},
      {{},
       cast<float16>({3}, {2, -1, 2}),
       cast<float16>({2}, {-1, 2}),
       t<i64>({2}, {1, 0}),
       t<i64>({3}, {1, 0, 1}),
       t<i64>({2}, {1, 2})},
      {{},
       t<uint64_t>({2}, {UINT64_MAX, 1}),
       t<uint64_t>({2}, {1, UINT64_MAX}),
       t<i64>({2}, {1, 0}),
       t<i64>({2}, {1, 0}),
       t<i64>({2}, {1, 1})},
      // Nothing, and slices of nothing.
      {{}, t<float>({0}, {}), t<float>({0}, {}), t<i64>({0}, {}), t<i64>({0}, {}), t<i64>({0}, {})},
      {{.axis = 0},
       t<float>({3, 0}, {}),
       t<float>({1, 0}, {}),
       t<i64>({1}, {0}),
       t<i64>({3}, {0, 0, 0}),
       t<i64>({1}, {3})},
      {{.axis = 1},
       t<float>({3, 0}, {}),
       t<float>({3, 0}, {}),
       t<i64>({0}, {}),
       t<i64>({0}, {}),
       t<i64>({0}, {})},
  };
  for (const Row& row : rows) check(row.op, {row.x}, {row.y, row.indices, row.inverse, row.counts}, 0, 0);
  check(op::Unique{}, {x}, {t<float>({4}, {1, 2, 3, 4})});
}

// Keys differ in several bytes, and floats have NaN and zeros of both signs.
TEST_CASE_TEMPLATE("Unique: many elements, against the definition", T, float, double, float16, int8_t,
                   int32_t, uint64_t) {
  using Number = compute_t<T>;
  const auto same = [](Number a, Number b) { return a == b || (a != a && b != b); };
  for (int64_t n : {255, 256, 1000})
    for (int64_t sorted : {0, 1}) {
      Tensor<T> x(Extents{n});
      std::vector<Number> distinct;
      std::vector<int64_t> first;
      for (int64_t i = 0; i < n; ++i) {
        auto v = static_cast<Number>(i * 7919 % 211 - 100);
        if constexpr (sizeof(T) >= 4) v = static_cast<Number>(v * 1000003);
        if constexpr (!std::is_integral_v<T>) {
          if (i % 50 == 3) v = std::numeric_limits<Number>::quiet_NaN();
          if (i % 50 == 7) v = -Number{0};
        }
        x[i] = static_cast<T>(v);
        v = static_cast<Number>(x[i]);
        if (std::ranges::any_of(distinct, [&](Number d) { return same(d, v); })) continue;
        distinct.push_back(v);
        first.push_back(i);
      }
      std::vector<std::size_t> groups(first.size());
      std::iota(groups.begin(), groups.end(), std::size_t{0});
      if (sorted != 0)
        std::ranges::sort(groups, [&](std::size_t a, std::size_t b) {
          return distinct[a] < distinct[b] || (distinct[a] == distinct[a] && distinct[b] != distinct[b]);
        });
      const auto count = static_cast<int64_t>(groups.size());
      Tensor<T> y(Extents{count});
      Tensor<int64_t> indices(Extents{count}), inverse(Extents{n}), counts(Extents{count});
      for (int64_t g = 0; g < count; ++g) {
        const std::size_t group = groups[static_cast<std::size_t>(g)];
        indices[g] = first[group], y[g] = x[first[group]], counts[g] = 0;
        for (int64_t i = 0; i < n; ++i)
          if (same(static_cast<Number>(x[i]), distinct[group])) inverse[i] = g, ++counts[g];
      }
      CAPTURE(n);
      check(op::Unique{.sorted = sorted}, {x}, {y, indices, inverse, counts}, 0, 0);
    }
}

TEST_CASE("Unique: complex numbers by their real parts first") {
  const Value x = t<complex64>({4}, {{1, 2}, {1, -1}, {0, 5}, {1, 2}});
  const std::vector<Value> out = run(op::Unique{}, {x}, 2);
  const auto y = out[0].view<complex64>();
  REQUIRE(y.size() == 3);
  CHECK(y[0] == complex64(0, 5));
  CHECK(y[1] == complex64(1, -1));
  CHECK(y[2] == complex64(1, 2));
  check_equal(out[1], t<int64_t>({3}, {2, 1, 0}));
}

TEST_CASE("Unique: refused, symbols, typed") {
  check_fails(op::Unique{.axis = 1}, {t<float>({2}, {1, 2})}, "axis 1 outside of [-1, 0]");
  check_fails(op::Unique{.axis = 0}, {t<float>({}, {1})}, "axis 0 outside");
  check_fails(op::Unique{}, {cast<bfloat16>({1}, {1})}, "X cannot be tensor(bfloat16)");
  const auto n = Dim::symbol(1);
  const auto out = infer(op::Unique{.axis = 1}, {info(DType::float32, {3, n})}, 4);
  CHECK(out[0].dims == Dims{3, Dim::unknown()});
  CHECK(out[2].dims == Dims{n});
  CHECK(infer(op::Unique{}, {info(DType::float32, {3, 2})}, 3)[2].dims == Dims{6});
  const Value y = op::Unique{}(Tensor<int32_t, Shape<3>>{2, 1, 2});
  check_equal(y, t<int32_t>({2}, {1, 2}));
}
}  // namespace tenon

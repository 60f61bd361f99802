#include "tenon/op/math/top_k.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("TopK: cases") {
  const float nan = std::nanf(""), inf = INFINITY;
  const Value x = t<float>({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 11, 10, 9, 8}), three = t<int64_t>({1}, {3});
  using K = op::TopK;
  struct Row {
    K op;
    Value x, k, values, indices;
  } rows[] = {
      {{},
       x,
       three,
       t<float>({3, 3}, {3, 2, 1, 7, 6, 5, 11, 10, 9}),
       t<int64_t>({3, 3}, {3, 2, 1, 3, 2, 1, 0, 1, 2})},
      {{.largest = 0},
       x,
       three,
       t<float>({3, 3}, {0, 1, 2, 4, 5, 6, 8, 9, 10}),
       t<int64_t>({3, 3}, {0, 1, 2, 0, 1, 2, 3, 2, 1})},
      {{.axis = 0},
       x,
       t<int64_t>({1}, {1}),
       t<float>({1, 4}, {11, 10, 9, 8}),
       t<int64_t>({1, 4}, {2, 2, 2, 2})},
      {{.axis = -2, .largest = 0},
       x,
       t<int64_t>({1}, {2}),
       t<float>({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}),
       t<int64_t>({2, 4}, {0, 0, 0, 0, 1, 1, 1, 1})},
      {{.sorted = 0},
       t<float>({4}, {1, 4, 2, 3}),
       t<int64_t>({1}, {2}),
       t<float>({2}, {4, 3}),
       t<int64_t>({2}, {1, 3})},
      // Equals go by index, also where the least are wanted.
      {{}, t<int64_t>({5}, {0, 7, 0, 7, 7}), three, t<int64_t>({3}, {7, 7, 7}), t<int64_t>({3}, {1, 3, 4})},
      {{.largest = 0},
       t<int64_t>({5}, {7, 0, 7, 0, 0}),
       three,
       t<int64_t>({3}, {0, 0, 0}),
       t<int64_t>({3}, {1, 3, 4})},
      {{}, t<float>({4}, {-0.0f, 0, -1, 0}), three, t<float>({3}, {0, 0, 0}), t<int64_t>({3}, {0, 1, 3})},
      // NaN, of either sign, is above infinity.
      {{},
       t<float>({5}, {1, nan, inf, -nan, -inf}),
       t<int64_t>({1}, {4}),
       t<float>({4}, {nan, nan, inf, 1}),
       t<int64_t>({4}, {1, 3, 2, 0})},
      {{.largest = 0},
       t<float>({5}, {1, nan, inf, -nan, -inf}),
       t<int64_t>({1}, {5}),
       t<float>({5}, {-inf, 1, inf, nan, nan}),
       t<int64_t>({5}, {4, 0, 2, 1, 3})},
      {{},
       t<uint64_t>({3}, {UINT64_MAX, 1, UINT64_MAX - 1}),
       three,
       t<uint64_t>({3}, {UINT64_MAX, UINT64_MAX - 1, 1}),
       t<int64_t>({3}, {0, 2, 1})},
      {{},
       t<int64_t>({3}, {INT64_MIN, INT64_MAX, -1}),
       three,
       t<int64_t>({3}, {INT64_MAX, -1, INT64_MIN}),
       t<int64_t>({3}, {1, 2, 0})},
      {{},
       t<int8_t>({3}, {-128, 127, -1}),
       three,
       t<int8_t>({3}, {127, -1, -128}),
       t<int64_t>({3}, {1, 2, 0})},
      {{},
       t<uint8_t>({3}, {128, 127, 255}),
       three,
       t<uint8_t>({3}, {255, 128, 127}),
       t<int64_t>({3}, {2, 0, 1})},
      {{},
       t<int16_t>({3}, {-128, 127, -1}),
       three,
       t<int16_t>({3}, {127, -1, -128}),
       t<int64_t>({3}, {1, 2, 0})},
      {{},
       t<uint16_t>({3}, {128, 127, 65535}),
       three,
       t<uint16_t>({3}, {65535, 128, 127}),
       t<int64_t>({3}, {2, 0, 1})},
      {{},
       t<int32_t>({3}, {-128, 127, -1}),
       three,
       t<int32_t>({3}, {127, -1, -128}),
       t<int64_t>({3}, {1, 2, 0})},
      {{},
       t<uint32_t>({3}, {128, 127, UINT32_MAX}),
       three,
       t<uint32_t>({3}, {UINT32_MAX, 128, 127}),
       t<int64_t>({3}, {2, 0, 1})},
      {{},
       t<double>({3}, {-1, 1e300, nan}),
       three,
       t<double>({3}, {nan, 1e300, -1}),
       t<int64_t>({3}, {2, 1, 0})},
      {{},
       cast<float16>({4}, {-1, 2, nan, -inf}),
       three,
       cast<float16>({3}, {nan, 2, -1}),
       t<int64_t>({3}, {2, 1, 0})},
      {{},
       cast<bfloat16>({4}, {-1, 2, nan, -inf}),
       three,
       cast<bfloat16>({3}, {nan, 2, -1}),
       t<int64_t>({3}, {2, 1, 0})},
      {{}, x, t<int64_t>({1}, {0}), t<float>({3, 0}, {}), t<int64_t>({3, 0}, {})},
      {{}, t<float>({0, 4}, {}), three, t<float>({0, 3}, {}), t<int64_t>({0, 3}, {})},
      {{.axis = 0}, t<float>({0}, {}), t<int64_t>({1}, {0}), t<float>({0}, {}), t<int64_t>({0}, {})},
      {{.axis = 0},
       t<float>({0, int64_t{1} << 40, int64_t{1} << 40}, {}),
       t<int64_t>({1}, {0}),
       t<float>({0, int64_t{1} << 40, int64_t{1} << 40}, {}),
       t<int64_t>({0, int64_t{1} << 40, int64_t{1} << 40}, {})},
      {{}, t<float>({2}, {1, 2}), t<int64_t>({}, {1}), t<float>({1}, {2}), t<int64_t>({1}, {1})},
  };
  for (const Row& row : rows) check(row.op, {row.x, row.k}, {row.values, row.indices}, 0, 0);
}

TEST_CASE("TopK: neighbouring rows give what each gives alone") {
  for (int64_t n : {1, 3, 9, 21, 50})
    for (int64_t columns : {3, 4, 7, 16, 37})
      for (int64_t choice = 0; choice < 8; ++choice) {
        const int64_t k = std::array{1, 3, 16, 17}[choice / 2], largest = choice % 2;
        if (k > n) continue;
        Tensor<float> x(Extents{n, columns}), turned(Extents{columns, n});
        for (int64_t i = 0; i < n; ++i)
          for (int64_t c = 0; c < columns; ++c) {
            const int64_t number = (i * columns + c) * 7919 % 1009 % 19;
            const float v = number == 0   ? std::nanf("")
                            : number == 1 ? INFINITY
                            : number == 2 ? -0.0f
                                          : static_cast<float>(number % 9 - 4);
            x[i * columns + c] = turned[c * n + i] = v;
          }
        Tensor<float> values(Extents{k, columns}), own(Extents{columns, k});
        Tensor<int64_t> indices(Extents{k, columns}), own_indices(Extents{columns, k});
        kernels::top_k(DType::float32, x.data(), 1, n, columns, k, largest != 0, values.data(),
                       indices.data());
        kernels::top_k(DType::float32, turned.data(), columns, n, 1, k, largest != 0, own.data(),
                       own_indices.data());
        bool same = true;
        for (int64_t j = 0; j < k; ++j)
          for (int64_t c = 0; c < columns; ++c) {
            same &= indices[j * columns + c] == own_indices[c * k + j];
            same &=
                std::bit_cast<uint32_t>(values[j * columns + c]) == std::bit_cast<uint32_t>(own[c * k + j]);
          }
        CHECK(same);
      }
}

TEST_CASE("TopK: long rows against a full sort") {
  for (int64_t n : {1, 63, 64, 65, 300, 5000}) {
    for (int64_t k : {int64_t{1}, int64_t{2}, int64_t{31}, n / 3, n / 2, n - 1, n}) {
      if (k < 0 || k > n) continue;
      for (int pattern = 0; pattern < 4; ++pattern) {
        Tensor<int32_t> x(Extents{2, n});
        for (int64_t i = 0; i < 2 * n; ++i)
          x[i] = static_cast<int32_t>(pattern == 0   ? i
                                      : pattern == 1 ? -i
                                      : pattern == 2 ? i * 7919 % 1009
                                                     : 5);
        Tensor<int32_t> values(Extents{2, k});
        Tensor<int64_t> indices(Extents{2, k});
        for (int64_t row = 0; row < 2; ++row) {
          std::vector<int64_t> order(static_cast<std::size_t>(n));
          std::iota(order.begin(), order.end(), 0);
          std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
            const int32_t va = x[row * n + a], vb = x[row * n + b];
            return va != vb ? va > vb : a < b;
          });
          for (int64_t j = 0; j < k; ++j) {
            indices[row * k + j] = order[static_cast<std::size_t>(j)];
            values[row * k + j] = x[row * n + order[static_cast<std::size_t>(j)]];
          }
        }
        const std::vector<Value> out = run(op::TopK{}, {x, t<int64_t>({1}, {k})}, 2);
        CAPTURE(n);
        CAPTURE(k);
        CAPTURE(pattern);
        CHECK(std::equal(values.begin(), values.end(), out[0].view<int32_t>().begin()));
        CHECK(std::equal(indices.begin(), indices.end(), out[1].view<int64_t>().begin()));
      }
    }
  }
}

TEST_CASE("TopK: NaN among the k, and as the last of them, against a full sort") {
  for (int64_t n : {40, 300, 1000})
    for (int64_t numbers : {int64_t{0}, int64_t{2}, int64_t{18}, n - 18, n - 2}) {
      // The numbers follow the NaNs, or precede them.
      for (const bool numbers_last : {false, true}) {
        Tensor<float> x(Extents{n});
        for (int64_t i = 0; i < n; ++i)
          x[i] = numbers_last == (i < n - numbers) ? std::nanf("") : static_cast<float>(i * 7919 % 31);
        for (int64_t k : {1, 3, 16, 17, 40})
          for (int64_t largest : {0, 1}) {
            std::vector<int64_t> order(static_cast<std::size_t>(n));
            std::iota(order.begin(), order.end(), 0);
            const auto height = [&](int64_t i) { return std::isnan(x[i]) ? INFINITY : x[i]; };
            std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
              if (height(a) == height(b)) return a < b;
              return largest != 0 ? height(a) > height(b) : height(a) < height(b);
            });
            Tensor<float> values(Extents{k});
            for (int64_t j = 0; j < k; ++j) values[j] = x[order[static_cast<std::size_t>(j)]];
            CAPTURE(n);
            CAPTURE(numbers);
            CAPTURE(numbers_last);
            check(op::TopK{.largest = largest}, {x, t<int64_t>({1}, {k})},
                  {values, Tensor<int64_t>(Extents{k}, order.begin(), order.begin() + k)}, 0, 0);
          }
      }
    }
}

TEST_CASE("TopK: earlier versions and errors") {
  const Value x = t<float>({2, 2}, {1, 2, 4, 3}), one = t<int64_t>({1}, {1});
  check(stated<op::TopK>(1, {{"k", int64_t{1}}}), {x},
        {t<float>({2, 1}, {2, 4}), t<int64_t>({2, 1}, {1, 0})});
  check(stated<op::TopK>(1, {{"axis", int64_t{0}}, {"k", int64_t{2}}}), {x},
        {t<float>({2, 2}, {4, 3, 1, 2}), t<int64_t>({2, 2}, {1, 1, 0, 0})});
  check(stated<op::TopK>(1, {{"k", int64_t{0}}}), {x}, {t<float>({2, 0}, {}), t<int64_t>({2, 0}, {})});
  for (int version : {10, 11, 24})
    check(stated<op::TopK>(version, {{"axis", int64_t{0}}}), {x, one},
          {t<float>({1, 2}, {4, 3}), t<int64_t>({1, 2}, {1, 1})});
  check(op::TopK{.axis = 0}, {x, one}, {t<float>({1, 2}, {4, 3}), t<int64_t>({1, 2}, {1, 1})}, 0, 0, 10);
  check(stated<op::TopK>(11, {{"largest", int64_t{0}}}), {x, one},
        {t<float>({2, 1}, {1, 3}), t<int64_t>({2, 1}, {0, 1})});
  const auto k = infer(stated<op::TopK>(1, {{"k", int64_t{3}}}), {info(DType::float32, {Dim::unknown(), 8})});
  CHECK(k.dims == Dims{Dim::unknown(), 3});
  check_refused<op::TopK>(1, {}, "attribute 'k' is required");
  check_refused<op::TopK>(10, {{"k", int64_t{1}}}, "version 10 has no attribute 'k'");
  for (const char* name : {"largest", "sorted"})
    for (int version : {1, 10}) check_refused<op::TopK>(version, {{name, int64_t{1}}}, "has no attribute");
  check_fails(stated<op::TopK>(1, {{"k", int64_t{3}}}), {x}, "K 3 is above the extent 2", 2);
  check_fails(stated<op::TopK>(1, {{"k", int64_t{-1}}}), {x}, "K: -1, expected at least 0", 2);
  check_fails(stated<op::TopK>(1, {{"k", int64_t{1}}}), {x, one}, "has no input K at version 1", 2);
  for (int version : {1, 10})
    check_fails(op::TopK{}, {t<int32_t>({1}, {1}), one}, "X cannot be tensor(int32)", 2, version);
  check_fails(op::TopK{}, {x, t<int64_t>({1}, {-1})}, "K: -1, expected at least 0", 2);
  check_fails(op::TopK{}, {x, t<int64_t>({2}, {1, 1})}, "K: (2), expected one element", 2);
  check_fails(op::TopK{.axis = 2}, {x, one}, "axis 2 outside of [-2, 1]", 2);
  check_fails(op::TopK{}, {t<float>({}, {1}), one}, "axis -1 outside", 2);
  check_fails(op::TopK{}, {t<bool>({1}, {true}), one}, "X cannot be tensor(bool)", 2);
  check_fails(op::TopK{}, {cast<bfloat16>({1}, {1}), one}, "X cannot be tensor(bfloat16)", 2, 11);
}

TEST_CASE("TopK: symbols, typed") {
  const auto n = Dim::symbol(1), k = Dim::symbol(2);
  auto out = infer(op::TopK{}, {info(DType::float32, {n, 8}), info(DType::int64, {1}, {k})}, 2);
  CHECK(out[0].dims == Dims{n, k});
  CHECK(out[1].dims == Dims{n, k});
  CHECK(out[1].type == Type(DType::int64));
  CHECK(infer(op::TopK{.axis = 0}, {info(DType::float32, {n, 8}), info(DType::int64, {1})}, 2)[0].dims ==
        Dims{Dim::unknown(), 8});
  const auto [values, indices] =
      apply<op::TopK{.largest = 0}>(Tensor<float, Shape<3>>{3, 1, 2}, constant<int64_t, 2>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(values)>, Tensor<float, Shape<2>>>);
  CHECK(values(1) == 2);
  CHECK(indices(1) == 2);
}
}  // namespace tenon

#include "tenon/op/tensor/grid_sample.hpp"

#include <complex>

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

namespace {
/// The points of a vector (1, 1, n) at coordinates in elements, with align_corners.
Value at(std::initializer_list<float> places, float n) {
  Tensor<float> grid({1, static_cast<int64_t>(places.size()), 1});
  int64_t k = 0;
  for (float p : places) grid[k++] = n > 1 ? 2 * p / (n - 1) - 1 : 2 * p;
  return grid;
}
Value line(std::initializer_list<float> v) { return t<float>({1, 1, static_cast<int64_t>(v.size())}, v); }
}  // namespace

TEST_CASE("GridSample: one axis, in elements") {
  const Value x = line({1, 2, 4, 8});
  const struct {
    const char *mode, *padding;
    Value grid, out;
  } rows[] = {
      {"linear", "zeros", at({0, 0.5f, 2.25f, 3}, 4), line({1, 1.5f, 5, 8})},
      {"linear", "zeros", at({-0.5f, 3.5f, -1, 4, -9}, 4), line({0.5f, 4, 0, 0, 0})},
      {"linear", "border", at({-0.5f, 3.5f, -9, 9}, 4), line({1, 8, 1, 8})},
      {"linear", "reflection", at({-0.5f, 3.5f, -1, 5, 7, 6.5f}, 4), line({1.5f, 6, 2, 2, 2, 1.5f})},
      {"nearest", "zeros", at({0.4f, 0.6f, 2.4f, 3.4f, 3.6f}, 4), line({1, 2, 4, 8, 0})},
      {"nearest", "border", at({-0.6f, 3.6f}, 4), line({1, 8})},
      {"nearest", "reflection", at({-1, 4}, 4), line({2, 4})},
      {"cubic", "zeros", at({1, 1.5f}, 4), line({2, -0.09375f + 0.59375f * 2 + 0.59375f * 4 - 0.09375f * 8})},
      {"cubic", "border", at({0.5f}, 4), line({-0.09375f + 0.59375f + 0.59375f * 2 - 0.09375f * 4})},
      {"cubic", "border", at({-0.5f, INFINITY}, 4), line({0.90625f, 8})},
      {"cubic", "reflection", at({0.5f}, 4), line({-0.09375f * 2 + 0.59375f + 0.59375f * 2 - 0.09375f * 4})},
      {"linear", "zeros", at({INFINITY, -INFINITY, NAN, 1e30f}, 4), line({0, 0, 0, 0})},
      {"linear", "border", at({INFINITY, -INFINITY, NAN, 1e30f}, 4), line({8, 1, 1, 8})},
      {"cubic", "reflection", at({INFINITY, -INFINITY, NAN}, 4), line({1, 1, 1})},
  };
  for (const auto& row : rows) {
    CAPTURE(row.mode);
    CAPTURE(row.padding);
    check(op::GridSample{.align_corners = 1, .mode = row.mode, .padding_mode = row.padding}, {x, row.grid},
          {row.out}, 1e-5, 1e-5);
  }
  // One element has no length to reflect at.
  check(op::GridSample{.align_corners = 1, .padding_mode = "reflection"}, {line({5}), line({0.7f})},
        {line({5})});
  // Without align_corners -1 and 1 are outer edges.
  check(op::GridSample{}, {x, t<float>({1, 3, 1}, {-0.75f, 0, 1})}, {line({1, 3, 4})}, 1e-6, 1e-6);
  check(op::GridSample{.padding_mode = "reflection"}, {x, t<float>({1, 2, 1}, {-1.25f, 1.25f})},
        {line({1, 8})}, 1e-6, 1e-6);
}

TEST_CASE("GridSample: planes and volumes") {
  const Value x = t<float>({1, 2, 2, 2}, {1, 2, 3, 4, 10, 20, 30, 40});
  const Value grid = t<float>({1, 1, 3, 2}, {-1, -1, 1, -1, 0, 0});
  const op::GridSample op{.align_corners = 1};
  const Value y = t<float>({1, 2, 1, 3}, {1, 2, 2.5f, 10, 20, 25});
  check(op, {x, grid}, {y});
  check(op, {x, cast<float16>({1, 1, 3, 2}, {-1, -1, 1, -1, 0, 0})}, {y});
  check(op, {x, cast<bfloat16>({1, 1, 3, 2}, {-1, -1, 1, -1, 0, 0})}, {y});
  check(op, {x, t<double>({1, 1, 3, 2}, {-1, -1, 1, -1, 0, 0})}, {y});
  for (const char* mode : {"bilinear", "nearest", "bicubic"})
    check(stated<op::GridSample>(16, {{"align_corners", int64_t{1}}, {"mode", std::string(mode)}}),
          {x, t<float>({1, 1, 1, 2}, {1, -1})}, {t<float>({1, 2, 1, 1}, {2, 20})}, 1e-5);
  check(stated<op::GridSample>(16, {{"align_corners", int64_t{1}}}), {x, grid}, {y});
  const Value cube = t<float>({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  check(op, {cube, t<float>({1, 1, 1, 2, 3}, {0, 0, 0, 1, -1, 1})}, {t<float>({1, 1, 1, 1, 2}, {4.5f, 6})});
  check(op::GridSample{.align_corners = 1, .mode = "cubic"}, {cube, t<float>({1, 1, 1, 1, 3}, {1, -1, 1})},
        {t<float>({1, 1, 1, 1, 1}, {6})}, 1e-5);
  // Halves are rounded to even.
  check(op::GridSample{.align_corners = 1, .mode = "nearest"}, {x, t<float>({1, 1, 1, 2}, {0, 0})},
        {t<float>({1, 2, 1, 1}, {1, 10})});
  check(op::GridSample{.align_corners = 1, .mode = "nearest"}, {cube, t<float>({1, 1, 1, 1, 3}, {0, 0, 0})},
        {t<float>({1, 1, 1, 1, 1}, {1})});
  check(op, {t<float>({1, 1, 0, 2}, {}), t<float>({1, 1, 1, 2}, {0, 0})}, {t<float>({1, 1, 1, 1}, {0})});
  check(op,
        {t<float>({1, 1, int64_t{1} << 62, int64_t{1} << 62, 0}, {}), t<float>({1, 1, 1, 1, 3}, {0, 0, 0})},
        {t<float>({1, 1, 1, 1, 1}, {0})});
  check(op, {t<float>({1, 1, 2, 2}, {1, 2, 3, 4}), t<float>({1, 0, 1, 2}, {})}, {t<float>({1, 1, 0, 1}, {})});
}

TEST_CASE("GridSample: floats of few and of many channels, linear, as doubles") {
  const WithThreads threads;
  const Extents planes[] = {{9}, {5, 7}, {1, 6}, {3, 4, 5}};
  for (const Extents& plane : planes)
    for (int64_t channels : {1, 7, 8, 37})
      for (int64_t count : {1, 300})
        for (const char* padding : {"zeros", "border", "reflection"})
          for (int64_t align : {0, 1}) {
            Extents in{2, channels}, points{2, count};
            for (const int64_t n : plane) in.push_back(n), points.push_back(1);
            points.back() = static_cast<int64_t>(plane.size());
            Tensor<float> x(in), grid(points);
            Tensor<double> wide(in);
            for (int64_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k * 37 % 101) / 50 - 1;
            // Next to a zero outside, an infinity inside does not matter.
            x[0] = INFINITY;
            for (int64_t k = 0; k < x.size(); ++k) wide[k] = static_cast<double>(x[k]);
            const float special[] = {NAN, INFINITY, -INFINITY, 1e30f, -1, 1, 0};
            for (int64_t k = 0; k < grid.size(); ++k)
              grid[k] = k % 5 == 4 ? special[k / 5 % 7] : static_cast<float>(k * 29 % 97) / 36 - 1.3f;
            const op::GridSample op{.align_corners = align, .padding_mode = padding};
            const Value y = run(op, {x.clone(), grid.clone()})[0],
                        want = run(op, {wide.clone(), grid.clone()})[0];
            CAPTURE(padding);
            CAPTURE(channels);
            int64_t wrong = 0;
            const auto a = y.view<float>();
            const auto b = want.view<double>();
            for (int64_t k = 0; k < a.size(); ++k) {
              const double got = static_cast<double>(a[k]);
              wrong += !(got == b[k] || (std::isnan(got) && std::isnan(b[k])) || std::abs(got - b[k]) < 1e-5);
            }
            CHECK(wrong == 0);
          }
}

TEST_CASE("GridSample: every type") {
  const WithThreads threads;
  const Extents in{2, 3, 7};
  Tensor<float> grid({2, 1000, 1});
  for (int64_t k = 0; k < 2000; ++k) grid[k] = static_cast<float>(k % 7) / 3 - 1;
  for_types(op::GridSample::spec.types[0], [&](DType d) {
    const Value x = pattern(d, in);
    check_moved(run(op::GridSample{.align_corners = 1, .mode = "nearest"}, {x, grid.clone()})[0].tensor(),
                x.tensor(), {2, 3, 1000},
                [&](const Extents& i) { return place(in, {i[0], i[1], (i[0] * 1000 + i[2]) % 7}); });
    if (d == DType::string || is_complex(d) || d == DType::bool_) return;
    check(op::GridSample{.align_corners = 1}, {cast(d, {1, 1, 2}, {2, 4}), t<float>({1, 1, 1}, {0})},
          {cast(d, {1, 1, 1}, {3})});
  });
  const op::GridSample op{.align_corners = 1};
  const Value middle = t<float>({1, 1, 1}, {0});
  check(op, {t<int32_t>({1, 1, 2}, {2, 5}), middle}, {t<int32_t>({1, 1, 1}, {3})});
  check(op, {t<bool>({1, 1, 2}, {false, true}), middle}, {t<bool>({1, 1, 1}, {true})});
  const Value z = run(op, {t<complex64>({1, 1, 2}, {{1, 2}, {3, 6}}), middle})[0];
  CHECK(z.view<complex64>()[0] == complex64(2, 4));
}

TEST_CASE("GridSample: errors, symbols, typed") {
  const Value x = t<float>({1, 1, 1, 2}, {1, 2}), grid = t<float>({1, 1, 1, 2}, {0, 0});
  check_fails(op::GridSample{.mode = "bilinear"}, {x, grid},
              "mode: 'bilinear', expected linear, nearest or cubic");
  check_fails(op::GridSample{.mode = "linear"}, {x, grid}, "expected bilinear, nearest or bicubic", 1, 16);
  check_fails(op::GridSample{.padding_mode = "wrap"}, {x, grid}, "padding_mode: 'wrap'");
  check_fails(op::GridSample{}, {t<float>({1, 1}, {1}), grid}, "X: rank 2, expected at least 3");
  check_fails(op::GridSample{}, {x, t<float>({1, 1, 2}, {0, 0})}, "grid: rank 3, expected 4");
  check_fails(op::GridSample{}, {x, t<float>({1, 1, 1, 3}, {0, 0, 0})},
              "has points of 3 coordinates for 2 axes");
  check_fails(op::GridSample{}, {x, t<float>({2, 1, 1, 2}, {0, 0, 0, 0})},
              "batches of X and grid differ: 1 and 2");
  check_fails(op::GridSample{.mode = "bilinear"}, {line({1}), line({1})}, "X: rank 3, expected 4", 1, 16);
  check_fails(op::GridSample{}, {t<std::string>({1, 1, 1}, {"a"}), line({0})}, "strings have no 'linear'");
  const auto n = Dim::symbol(1);
  const auto f = DType::float32;
  CHECK(infer(op::GridSample{}, {info(f, {n, 3, 8, 8}), info(f, {Dim(), 4, n, 2})})[0].dims ==
        Dims{n, 3, 4, n});
  CHECK(infer(op::GridSample{}, {info(f, {}), info(f, {n, 4, 5, 2})})[0].dims == Dims{n, Dim(), 4, 5});
  auto y = op::GridSample{}(Tensor<float, Shape<1, 1, 2>>({1, 1, 2}, {1, 3}),
                            Tensor<float, Shape<1, 1, 1>>({1, 1, 1}, {0}));
  CHECK(y[0] == 2);
}
}  // namespace tenon

#include "tenon/op/tensor/scatter_nd.hpp"

#include <complex>

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ScatterND: cases") {
  const Value v = t<float>({4}, {1, 2, 3, 4}), m = t<float>({2, 2}, {1, 2, 3, 4});
  const float nan = std::nanf("");
  struct Row {
    const char* reduction;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {"none", {v, t<int64_t>({2, 1}, {3, -4}), t<float>({2}, {9, 8})}, t<float>({4}, {8, 2, 3, 9})},
      {"none", {v, t<int64_t>({3, 1}, {1, 1, 1}), t<float>({3}, {7, 8, 9})}, t<float>({4}, {1, 9, 3, 4})},
      {"none", {m, t<int64_t>({1, 1}, {1}), t<float>({1, 2}, {8, 9})}, t<float>({2, 2}, {1, 2, 8, 9})},
      {"none", {m, t<int64_t>({1, 1, 2}, {1, 0}), t<float>({1, 1}, {9})}, t<float>({2, 2}, {1, 2, 9, 4})},
      {"none", {m, t<int64_t>({2}, {0, 1}), t<float>({}, {9})}, t<float>({2, 2}, {1, 9, 3, 4})},
      {"none",
       {m, t<int64_t>({2, 0}, {}), t<float>({2, 2, 2}, {1, 1, 1, 1, 5, 6, 7, 8})},
       t<float>({2, 2}, {5, 6, 7, 8})},
      {"none", {m, t<int64_t>({0, 1}, {}), t<float>({0, 2}, {})}, m},
      {"none", {t<float>({0, 2}, {}), t<int64_t>({0, 1}, {}), t<float>({0, 2}, {})}, t<float>({0, 2}, {})},
      {"add", {v, t<int64_t>({3, 1}, {1, 1, 0}), t<float>({3}, {10, 20, 5})}, t<float>({4}, {6, 32, 3, 4})},
      {"mul", {v, t<int64_t>({3, 1}, {1, 1, 0}), t<float>({3}, {10, 20, 5})}, t<float>({4}, {5, 400, 3, 4})},
      {"max", {v, t<int64_t>({3, 1}, {1, 1, 3}), t<float>({3}, {3, 2.5, 1})}, t<float>({4}, {1, 3, 3, 4})},
      {"min", {v, t<int64_t>({3, 1}, {1, 1, 3}), t<float>({3}, {3, 0.5, 1})}, t<float>({4}, {1, 0.5, 3, 1})},
      {"max", {v, t<int64_t>({2, 1}, {1, 1}), t<float>({2}, {nan, 9})}, t<float>({4}, {1, nan, 3, 4})},
      {"min", {v, t<int64_t>({2, 1}, {1, 1}), t<float>({2}, {nan, 0})}, t<float>({4}, {1, nan, 3, 4})},
      {"add",
       {m, t<int64_t>({2, 1}, {0, 0}), t<float>({2, 2}, {1, 2, 3, 4})},
       t<float>({2, 2}, {5, 8, 3, 4})},
      {"add", {t<uint8_t>({1}, {250}), t<int64_t>({1, 1}, {0}), t<uint8_t>({1}, {10})}, t<uint8_t>({1}, {4})},
      {"mul",
       {t<int64_t>({1}, {INT64_MAX}), t<int64_t>({1, 1}, {0}), t<int64_t>({1}, {2})},
       t<int64_t>({1}, {-2})},
      {"mul",
       {t<int16_t>({1}, {-300}), t<int64_t>({1, 1}, {0}), t<int16_t>({1}, {-2})},
       t<int16_t>({1}, {600})},
      {"max",
       {t<uint64_t>({1}, {1}), t<int64_t>({1, 1}, {0}), t<uint64_t>({1}, {UINT64_MAX})},
       t<uint64_t>({1}, {UINT64_MAX})},
      {"add",
       {t<bool>({2}, {true, false}), t<int64_t>({2, 1}, {0, 1}), t<bool>({2}, {true, true})},
       t<bool>({2}, {true, true})},
      {"mul",
       {t<bool>({2}, {true, false}), t<int64_t>({2, 1}, {0, 1}), t<bool>({2}, {false, true})},
       t<bool>({2}, {false, false})},
      {"max", {t<bool>({1}, {false}), t<int64_t>({1, 1}, {0}), t<bool>({1}, {true})}, t<bool>({1}, {true})},
      {"min", {t<bool>({1}, {true}), t<int64_t>({1, 1}, {0}), t<bool>({1}, {false})}, t<bool>({1}, {false})},
      {"add",
       {cast<float16>({1}, {1.5}), t<int64_t>({1, 1}, {0}), cast<float16>({1}, {2})},
       cast<float16>({1}, {3.5})},
      {"max",
       {cast<bfloat16>({1}, {1.5}), t<int64_t>({1, 1}, {0}), cast<bfloat16>({1}, {2})},
       cast<bfloat16>({1}, {2})},
      {"none",
       {t<std::string>({2}, {"a", "b"}), t<int64_t>({1, 1}, {1}), t<std::string>({1}, {"c"})},
       t<std::string>({2}, {"a", "c"})},
  };
  for (const Row& row : rows) {
    check(op::ScatterND{.reduction = row.reduction}, row.in, {row.out});
    const std::string_view r = row.reduction;
    if (r == "max" || r == "min") continue;
    check(op::ScatterND{.reduction = row.reduction}, row.in, {row.out}, 1e-6, 1e-7, 16);
    check(stated<op::ScatterND>(16, {{"reduction", std::string(r)}}), row.in, {row.out});
  }
  const Value z = run(op::ScatterND{.reduction = "mul"},
                      {t<complex64>({1}, {{1, 2}}), t<int64_t>({1, 1}, {0}), t<complex64>({1}, {{3, 4}})})[0];
  CHECK(z.view<complex64>()[0] == complex64(-5, 10));
  for (int version : {11, 13, 16, 18}) {
    const std::vector<Value> in{v, t<int64_t>({1, 1}, {0}), t<float>({1}, {9})};
    check(op::ScatterND{}, in, {t<float>({4}, {9, 2, 3, 4})}, 0, 0, version);
    check(stated<op::ScatterND>(version), in, {t<float>({4}, {9, 2, 3, 4})}, 0, 0);
  }
}

TEST_CASE("ScatterND: every type, duplicates in order") {
  const WithThreads threads;
  for (int64_t inner : {1, 3, 70000})
    for_types(op::ScatterND::spec.types[0], [&](DType d) {
      const Value x = pattern(d, {4, inner}), updates = pattern(d, {6, inner}, 7);
      const int64_t rows[] = {2, 0, 2, 1, -4, -2}, from[] = {4, 3, 5, -1};
      const Value y = run(op::ScatterND{}, {x, Tensor<int64_t>({6, 1}, rows, rows + 6), updates})[0];
      const AnyTensor& result = y.tensor();
      for (int64_t k = 0; k < result.size(); ++k) {
        const int64_t u = from[k / inner];
        const bool same = element(result, k) ==
                          (u < 0 ? element(x.tensor(), k) : element(updates.tensor(), u * inner + k % inner));
        if (!same) FAIL_CHECK("element ", k);
      }
    });
}

TEST_CASE("ScatterND: errors") {
  const Value m = t<float>({2, 2}, {1, 2, 3, 4});
  const auto i = t<int64_t>({1, 1}, {0});
  const Value u = t<float>({1, 2}, {8, 9});
  check_fails(op::ScatterND{}, {m, t<int64_t>({1, 1}, {2}), u}, "index 2 outside of [-2, 1] on axis 0");
  check_fails(op::ScatterND{}, {m, t<int64_t>({1, 2}, {0, -3}), t<float>({1}, {1})},
              "index -3 outside of [-2, 1] on axis 1");
  check_fails(op::ScatterND{}, {m, t<int64_t>({1, 3}, {0, 0, 0}), u}, "name 3 coordinates");
  check_fails(op::ScatterND{}, {m, t<int64_t>({}, {0}), u}, "indices: rank 0, expected at least 1");
  check_fails(op::ScatterND{}, {t<float>({}, {0}), i, u}, "data: rank 0, expected at least 1");
  check_fails(op::ScatterND{}, {m, i, t<float>({1}, {8})}, "updates: rank 1, expected 2");
  check_fails(op::ScatterND{}, {m, i, t<float>({2, 2}, {1, 2, 3, 4})},
              "extents of indices and updates differ: 1 and 2");
  check_fails(op::ScatterND{}, {m, i, t<float>({1, 1}, {1})}, "extents of data and updates differ: 2 and 1");
  check_fails(op::ScatterND{.reduction = "sub"}, {m, i, u},
              "reduction: 'sub', expected none, add, mul, max or min");
  for (const char* late : {"max", "min"}) {
    CAPTURE(late);
    check_fails(op::ScatterND{.reduction = late}, {m, i, u},
                str_cat("reduction: '", late, "', expected none, add or mul"), 1, 16);
    check_fails(stated<op::ScatterND>(16, {{"reduction", std::string(late)}}), {m, i, u},
                str_cat("reduction: '", late, "', expected none, add or mul"));
  }
  for (int version : {11, 13})
    check_refused<op::ScatterND>(version, {{"reduction", std::string("add")}},
                                 "has no attribute 'reduction'");
  const Value s = t<std::string>({1}, {"a"});
  check_fails(op::ScatterND{.reduction = "add"}, {s, i, s}, "strings have no 'add'");
  const Value z = t<complex64>({1}, {{1, 2}});
  check_fails(op::ScatterND{.reduction = "max"}, {z, i, z}, "complex numbers have no 'max'");
}

TEST_CASE("ScatterND: symbols, typed") {
  const auto n = Dim::symbol(1);
  const auto f = DType::float32, l = DType::int64;
  CHECK(infer(op::ScatterND{}, {info(f, {n, 2}), info(l, {Dim(), 1}), info(f, {Dim(), 2})})[0].dims ==
        Dims{n, 2});
  CHECK(infer(op::ScatterND{}, {info(f, {n, 2}), info(l, {}), info(f, {})})[0].dims == Dims{n, 2});
  const Tensor<float, Shape<2>> x{1, 2};
  const Tensor<int64_t, Shape<1, 1>> i{{1}};
  auto y = apply<op::ScatterND{}>(x, i, Tensor<float, Shape<1>>{9});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<2>>>);
  CHECK(y[1] == 9);
}
}  // namespace tenon

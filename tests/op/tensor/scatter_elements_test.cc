#include "tenon/op/tensor/scatter_elements.hpp"

#include <complex>

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ScatterElements: cases") {
  const Value z = t<float>({3, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0}), v = t<float>({1, 5}, {1, 2, 3, 4, 5});
  const Value twice = t<int64_t>({1, 2}, {1, 1}), u = t<float>({1, 2}, {1.5, 2});
  const float nan = std::nanf("");
  struct Row {
    int64_t axis;
    const char* reduction;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {0,
       "none",
       {z, t<int64_t>({2, 3}, {1, 0, 2, 0, 2, 1}), t<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
       t<float>({3, 3}, {4, 2, 0, 1, 0, 6, 0, 5, 3})},
      {1, "none", {v, t<int32_t>({1, 2}, {1, -2}), u}, t<float>({1, 5}, {1, 1.5, 3, 2, 5})},
      {-1, "none", {v, twice, u}, t<float>({1, 5}, {1, 2, 3, 4, 5})},
      {1, "add", {v, twice, u}, t<float>({1, 5}, {1, 5.5, 3, 4, 5})},
      {1, "mul", {v, twice, u}, t<float>({1, 5}, {1, 6, 3, 4, 5})},
      {1, "max", {v, t<int64_t>({1, 2}, {1, 0}), u}, t<float>({1, 5}, {2, 2, 3, 4, 5})},
      {1, "min", {v, t<int64_t>({1, 2}, {1, 0}), u}, t<float>({1, 5}, {1, 1.5, 3, 4, 5})},
      {1, "max", {v, twice, t<float>({1, 2}, {nan, 9})}, t<float>({1, 5}, {1, nan, 3, 4, 5})},
      {0,
       "add",
       {t<uint8_t>({1}, {250}), t<int32_t>({2}, {0, 0}), t<uint8_t>({2}, {5, 5})},
       t<uint8_t>({1}, {4})},
      {0, "add", {t<bool>({1}, {false}), t<int64_t>({1}, {0}), t<bool>({1}, {true})}, t<bool>({1}, {true})},
      {0,
       "mul",
       {cast<float16>({1}, {1.5}), t<int64_t>({1}, {0}), cast<float16>({1}, {2})},
       cast<float16>({1}, {3})},
      {0, "none", {v, t<int64_t>({0, 5}, {}), t<float>({0, 5}, {})}, v},
      {1, "none", {t<float>({0, 2}, {}), t<int64_t>({0, 1}, {}), t<float>({0, 1}, {})}, t<float>({0, 2}, {})},
      {0,
       "none",
       {t<std::string>({2}, {"a", "b"}), t<int64_t>({1}, {1}), t<std::string>({1}, {"c"})},
       t<std::string>({2}, {"a", "c"})},
  };
  for (const Row& row : rows) {
    check(op::ScatterElements{.axis = row.axis, .reduction = row.reduction}, row.in, {row.out});
    if (std::string_view(row.reduction) == "none")
      for (int version : {11, 13, 16, 18})
        check(stated<op::ScatterElements>(version, {{"axis", row.axis}}), row.in, {row.out});
  }
}

TEST_CASE("ScatterElements: every type and axis, against the definition") {
  const WithThreads threads;
  const struct {
    Extents data, updates;
    int axis;
  } rows[] = {
      {{5, 3}, {9, 2}, 0}, {{5, 3}, {4, 7}, 1}, {{4, 5, 2}, {3, 9, 1}, 1}, {{200, 30, 9}, {199, 40, 9}, 1}};
  for (const auto& row : rows)
    for_types(op::ScatterElements::spec.types[0], [&](DType d) {
      const Value x = pattern(d, row.data), u = pattern(d, row.updates, 5);
      const int64_t extent = row.data[row.axis];
      Tensor<int64_t> indices{std::span<const int64_t>(row.updates)};
      std::vector<int64_t> from(static_cast<std::size_t>(extent_product(row.data)), -1);
      for (int64_t k = 0; k < indices.size(); ++k) {
        indices[k] = (k * 7 + 3) % extent - (k % 2) * extent;
        Extents index(row.updates);
        for (int64_t rest = k, a = index.size(); a-- > 0; rest /= row.updates[a])
          index[a] = rest % row.updates[a];
        index[row.axis] = (k * 7 + 3) % extent;
        from[static_cast<std::size_t>(place(row.data, index))] = k;
      }
      const Value y = run(op::ScatterElements{.axis = row.axis}, {x, indices, u})[0];
      int wrong = 0;
      for (int64_t k = 0; k < y.tensor().size(); ++k) {
        const int64_t f = from[static_cast<std::size_t>(k)];
        wrong += element(y.tensor(), k) != (f < 0 ? element(x.tensor(), k) : element(u.tensor(), f));
      }
      CHECK(wrong == 0);
    });
}

TEST_CASE("ScatterElements: errors") {
  const Value x = t<float>({2, 2}, {1, 2, 3, 4}), i = t<int64_t>({1, 1}, {0}), u = t<float>({1, 1}, {8});
  check_fails(op::ScatterElements{}, {x, t<int64_t>({1, 1}, {2}), u}, "index 2 outside of [-2, 1]");
  check_fails(op::ScatterElements{}, {x, t<int64_t>({1, 1}, {INT64_MIN}), u}, "outside of [-2, 1]");
  check_fails(op::ScatterElements{.axis = 2}, {x, i, u}, "axis 2 outside");
  check_fails(op::ScatterElements{}, {x, t<int64_t>({1}, {0}), u}, "indices: rank 1, expected 2");
  check_fails(op::ScatterElements{}, {x, i, t<float>({1}, {8})}, "updates: rank 1, expected 2");
  check_fails(op::ScatterElements{}, {x, i, t<float>({1, 2}, {8, 9})},
              "extents of indices and updates differ");
  check_fails(op::ScatterElements{}, {x, t<int64_t>({1, 3}, {0, 0, 0}), t<float>({1, 3}, {1, 2, 3})},
              "reach beyond axis 1");
  check_fails(op::ScatterElements{.reduction = "sub"}, {x, i, u}, "reduction: 'sub'");
  check_fails(op::ScatterElements{.reduction = "max"}, {x, i, u}, "expected none, add or mul", 1, 16);
  const Value s = t<std::string>({1}, {"a"}), z = t<complex64>({1}, {{1, 2}}), at = t<int64_t>({1}, {0});
  check_fails(op::ScatterElements{.reduction = "add"}, {s, at, s}, "strings have no 'add'");
  check_fails(op::ScatterElements{.reduction = "min"}, {z, at, z}, "complex numbers have no 'min'");
}

TEST_CASE("ScatterElements: symbols, typed") {
  const auto n = Dim::symbol(1);
  const auto f = DType::float32, l = DType::int64;
  CHECK(infer(op::ScatterElements{}, {info(f, {n, 2}), info(l, {}), info(f, {})})[0].dims == Dims{n, 2});
  const Tensor<float, Shape<2>> x{1, 2};
  auto y = apply<op::ScatterElements{}>(x, Tensor<int64_t, Shape<1>>{1}, Tensor<float, Shape<1>>{9});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<2>>>);
  CHECK(y[1] == 9);
}
}  // namespace tenon

#include "tenon/op/tensor/concat.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Concat: cases") {
  const Value a = t<float>({2, 2}, {1, 2, 3, 4}), b = t<float>({1, 2}, {5, 6}), c = t<float>({2, 1}, {7, 8});
  struct Row {
    int64_t axis;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {0, {a, b}, t<float>({3, 2}, {1, 2, 3, 4, 5, 6})},
      {-2, {b, a, b}, t<float>({4, 2}, {5, 6, 1, 2, 3, 4, 5, 6})},
      {1, {a, c}, t<float>({2, 3}, {1, 2, 7, 3, 4, 8})},
      {-1, {c, a, c}, t<float>({2, 4}, {7, 1, 2, 7, 8, 3, 4, 8})},
      {0, {a}, a},
      {0, {t<float>({0, 2}, {}), b}, b},
      {0, {t<float>({0, 2}, {}), t<float>({0, 2}, {})}, t<float>({0, 2}, {})},
      {1, {t<float>({0, 2}, {}), t<float>({0, 3}, {})}, t<float>({0, 5}, {})},
      {0, {t<std::string>({1}, {"a"}), t<std::string>({2}, {"", "c"})}, t<std::string>({3}, {"a", "", "c"})},
  };
  for (const Row& row : rows) check(op::Concat{.axis = row.axis}, row.in, {row.out});
}

TEST_CASE("Concat: every type, against the definition") {
  const WithThreads threads;
  const struct {
    Extents extents;  // of all inputs but for the axis
    int axis;
    Extents lengths;
  } rows[] = {{{3, 1, 5}, 1, {2, 3, 1}},  {{3, 1, 5}, 0, {1, 2}}, {{3, 5, 1}, 2, {1, 1, 3}},
              {{3, 4, 1}, 2, {5, 7, 2}},  {{1}, 0, {1, 4, 5, 8}}, {{40, 1, 70}, 1, {30, 50}},
              {{1, 300, 300}, 0, {2, 1}}, {{100, 1}, 1, {1, 2}},  {{70, 1, 3}, 1, {1, 0, 4}},
              {{2000, 1}, 1, {1, 2}}};
  for (const auto& row : rows)
    for_types(op::Concat::spec.types[0], [&](DType d) {
      std::vector<Value> in;
      Extents whole = row.extents;
      whole[row.axis] = 0;
      for (int64_t n : row.lengths) {
        Extents e = row.extents;
        e[row.axis] = n;
        in.push_back(pattern(d, e, static_cast<uint32_t>(n)));
        whole[row.axis] += n;
      }
      const Value y = run(op::Concat{.axis = row.axis}, in)[0];
      REQUIRE(y.tensor().extents() == whole);
      int64_t first = 0;
      for (const Value& x : in) {  // each input is a part of the result
        const Extents e = x.tensor().extents();
        const int64_t at = first;
        check_moved(x.tensor(), y.tensor(), e, [&](Extents index) {
          index[row.axis] += at;
          return place(whole, index);
        });
        first += e[row.axis];
      }
    });
}

TEST_CASE("Concat: version 1 has a default axis") {
  const Value a = t<float>({1, 1}, {1}), b = t<float>({1, 1}, {2});
  check(op::Concat{}, {a, b}, {t<float>({1, 2}, {1, 2})}, 1e-6, 1e-7, 1);
  check(op::Concat{.axis = 0}, {a, b}, {t<float>({2, 1}, {1, 2})}, 1e-6, 1e-7, 1);
  check(stated<op::Concat>(1), {a, b}, {t<float>({1, 2}, {1, 2})});
  for (int version : op::Concat::spec.since) {
    CAPTURE(version);
    check(stated<op::Concat>(version, {{"axis", int64_t{0}}}), {a, b}, {t<float>({2, 1}, {1, 2})});
    if (version == 1) continue;
    check_refused<op::Concat>(version, {}, "attribute 'axis' is required");
    check_fails(op::Concat{}, {a, b}, "axis is missing", 1, version);
  }
  const Value i = t<int32_t>({1}, {1});
  check_fails(stated<op::Concat>(1, {{"axis", int64_t{0}}}), {i, i}, "cannot be tensor(int32)");
  check(stated<op::Concat>(4, {{"axis", int64_t{0}}}), {i, i}, {t<int32_t>({2}, {1, 1})});
  check_fails(stated<op::Concat>(1), {t<float>({1}, {1})}, "axis 1 outside of [-1, 0]");
}

TEST_CASE("Concat: errors") {
  const Value a = t<float>({2, 2}, {1, 2, 3, 4});
  check_fails(op::Concat{}, {a}, "axis is missing");
  check_fails(op::Concat{.axis = 2}, {a}, "axis 2 outside of [-2, 1]");
  check_fails(op::Concat{.axis = 0}, {t<float>({}, {1})}, "axis 0 outside");
  check_fails(op::Concat{.axis = 0}, {a, t<float>({1, 1}, {1})}, "extents off the axis differ: 2 and 1");
  check_fails(op::Concat{.axis = 0}, {a, t<float>({2}, {1, 2})}, "ranks of (2,2) and (2) differ");
  check_fails(op::Concat{.axis = 0}, {a, Value()}, "input 1 is missing");
  check_fails(op::Concat{.axis = 0}, {a, t<double>({1, 2}, {1, 2})}, "tensor(double)");
  check_fails(op::Concat{.axis = 0}, {}, "input inputs is missing");
}

TEST_CASE("Concat: symbols and values") {
  const auto n = Dim::symbol(1);
  const auto f = DType::float32;
  CHECK(infer(op::Concat{.axis = 1}, {info(f, {n, 2}), info(f, {n, 3})})[0].dims == Dims{n, 5});
  CHECK(infer(op::Concat{.axis = 1}, {info(f, {n, 2}), info(f, {4, 3})})[0].dims == Dims{4, 5});
  const auto m = Dim::symbol(2), unstated = Dim::symbol(op::unstated_symbols);
  for (const auto& [a, b, joined] : {std::tuple{n, m, n}, {m, n, m}, {n, unstated, n}, {unstated, n, n}})
    CHECK(infer(op::Concat{.axis = 1}, {info(f, {a, 2}), info(f, {b, 3})})[0].dims == Dims{joined, 5});
  CHECK(infer(op::Concat{.axis = 0}, {info(f, {n, 2}), info(f, {3, 2})})[0].dims == Dims{Dim(), 2});
  CHECK(infer(op::Concat{.axis = 0}, {info(f, {3, 2}), info(f, {})})[0].dims == Dims{Dim(), 2});
  CHECK_FALSE(infer(op::Concat{.axis = 0}, {info(f, {}), info(f, {})})[0].dims.ranked());
  const auto v =
      infer(op::Concat{.axis = 0}, {info(DType::int64, {1}, {n}), info(DType::int64, {2}, {3, 4})})[0];
  CHECK((v.propagated.size() == 3 && v.propagated[0].same(n) && v.propagated[2].is(4)));
  const auto partly =
      infer(op::Concat{.axis = 0}, {info(DType::int64, {1}), info(DType::int64, {2}, {3, 4})})[0].propagated;
  CHECK((partly.size() == 3 && partly[0] == Dim() && partly[1].is(3) && partly[2].is(4)));
  for (const op::Info& other : {info(DType::int64, {n}), info(DType::int64, {})})
    CHECK_FALSE(infer(op::Concat{.axis = 0}, {other, info(DType::int64, {2}, {3, 4})})[0].propagated.known());
  CHECK_FALSE(
      infer(op::Concat{.axis = 0}, {info(DType::int64, {1}), info(DType::int64, {2})})[0].propagated.known());
}

TEST_CASE("Concat: typed") {
  const Tensor<float, Shape<1, 2>> a{{1, 2}};
  auto y = apply<op::Concat{.axis = 0}>(a, a);
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<2, 2>>>);
  CHECK(y(1, 0) == 1);
}
}  // namespace tenon

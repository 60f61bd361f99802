#include "tenon/op/math/add.hpp"

#include "tenon/graph/session.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Add: cases") {
  const Value f = t<float>({2, 2}, {1, 2, 3, 4});
  const float nan = std::nanf(""), inf = INFINITY;
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{f, f}, t<float>({2, 2}, {2, 4, 6, 8})},
      {{f, t<float>({2}, {10, 20})}, t<float>({2, 2}, {11, 22, 13, 24})},
      {{f, t<float>({2, 1}, {10, 20})}, t<float>({2, 2}, {11, 12, 23, 24})},
      {{t<float>({}, {1}), t<float>({}, {2})}, t<float>({}, {3})},
      {{t<float>({0, 2}, {}), t<float>({2}, {1, 2})}, t<float>({0, 2}, {})},
      {{t<float>({0, int64_t{1} << 40, int64_t{1} << 40}, {}), t<float>({}, {1})},
       t<float>({0, int64_t{1} << 40, int64_t{1} << 40}, {})},
      {{t<float>({3}, {nan, inf, inf}), t<float>({3}, {1, 1, -inf})}, t<float>({3}, {nan, inf, nan})},
      {{t<uint8_t>({2}, {255, 1}), t<uint8_t>({1}, {2})}, t<uint8_t>({2}, {1, 3})},
      {{t<int64_t>({1}, {INT64_MAX}), t<int64_t>({1}, {1})}, t<int64_t>({1}, {INT64_MIN})},
      {{cast<float16>({2}, {0.5, 2}), cast<float16>({2}, {1, 2048})}, cast<float16>({2}, {1.5, 2050})},
      {{cast<bfloat16>({2}, {0.5, 2}), cast<bfloat16>({}, {1})}, cast<bfloat16>({2}, {1.5, 3})},
  };
  for (const Row& row : rows) check(op::Add{}, row.in, {row.out});
}

TEST_CASE("Add: versions 1 and 6 align B by axis") {
  const Value a = t<float>({2, 2}, {1, 2, 3, 4}), b = t<float>({2}, {10, 20});
  check(op::Add_1{.broadcast = 1}, {a, b}, {t<float>({2, 2}, {11, 22, 13, 24})});
  check(op::Add_1{.axis = 0, .broadcast = 1}, {a, b}, {t<float>({2, 2}, {11, 12, 23, 24})});
  check_fails(op::Add_1{}, {a, b}, "extents without broadcast differ");
  check_fails(op::Add_1{.axis = 2, .broadcast = 1}, {a, b}, "does not match the axes");
}

TEST_CASE("Add: newest nodes stand for versions 1 and 6") {
  check_legacy<float, float>(op::Add_1{},
                             [](Opt<int64_t> axis) { return op::Add_1{.axis = axis, .broadcast = 1}; },
                             {5, 4, 4, 6}, {2, 5, 4, 7}, {2, 3, 6, 7});
  const Value a = t<float>({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
              b = t<float>({3}, {10, 20, 30});
  const Attributes middle{{"axis", int64_t{1}}, {"broadcast", int64_t{1}}};
  const Value sum = t<float>({2, 3, 2}, {11, 12, 23, 24, 35, 36, 17, 18, 29, 30, 41, 42});
  for (int version : {1, 6}) check(stated<op::Add_1>(version, middle), {a, b}, {sum});

  // Extents that are unknown before the run stay as stated.
  for (const auto& [dims_a, dims_b] :
       {std::pair(Dims(), Dims()), std::pair(Dims::of_rank(3), Dims{3}),
        std::pair(Dims{2, 3, 2}, Dims::of_rank(1)), std::pair(Dims{2, 3, 2}, Dims())}) {
    Graph g;
    const ValueId x = g.add_input("a", DType::float32, dims_a), y = g.add_input("b", DType::float32, dims_b);
    const std::string name[] = {"c"};
    g.add_output("c", g.add_node("n", stated<op::Add_1>(6, middle).op, {x, y}, name)[0]);
    const Session s(std::move(g));
    check_equal(s.run({{"a", a}, {"b", b}})["c"], sum);
    CHECK_THROWS_AS(s.run({{"a", a}, {"b", t<float>({2}, {1, 2})}}), Error);
  }

  {  // An extent of 1 is not stretched unless that is asked for.
    Graph g;
    const ValueId x = g.add_input("a", DType::float32, {Dim::unknown(), 2}),
                  y = g.add_input("b", DType::float32, {1, 2});
    const std::string name[] = {"c"};
    g.add_output("c", g.add_node("n", stated<op::Add_1>(6).op, {x, y}, name)[0]);
    const Session s(std::move(g));
    const Value one = t<float>({1, 2}, {1, 2});
    check_equal(s.run({{"a", one}, {"b", one}})["c"], t<float>({1, 2}, {2, 4}));
    CHECK_THROWS_AS(s.run({{"a", t<float>({2, 2}, {1, 2, 3, 4})}, {"b", one}}), Error);
  }

  const Value i = t<int32_t>({1}, {1});
  check(stated<op::Add_1>(6), {i, i}, {t<int32_t>({1}, {2})});
  check_fails(stated<op::Add_1>(1), {i, i}, "input A cannot be tensor(int32)");
  check(stated<op::Add_1>(1, {{"consumed_inputs", ints{0, 0}}}), {a, a}, run(op::Add{}, {a, a}));
  check_refused<op::Add_1>(6, {{"consumed_inputs", ints{0, 0}}},
                           "version 6 has no attribute 'consumed_inputs'");
}

TEST_CASE("Add: errors") {
  check_fails(op::Add{}, {t<float>({2}, {1, 2}), t<float>({3}, {1, 2, 3})},
              "extents (2) and (3) do not broadcast");
  check_fails(op::Add{}, {t<float>({1}, {1}), t<double>({1}, {1})},
              "input B is tensor(double), but T is tensor(float)");
  check_fails(op::Add{}, {t<bool>({1}, {true}), t<bool>({1}, {true})}, "input A cannot be tensor(bool)");
  check_fails(op::Add{}, {t<uint8_t>({1}, {1}), t<uint8_t>({1}, {1})}, "input A cannot be tensor(uint8)", 1,
              13);
  check_fails(op::Add{}, {t<float>({1}, {1})}, "input B is missing");
}

TEST_CASE("Add: shape arithmetic and symbols") {
  const auto n = Dim::symbol(1);
  const auto out = infer(op::Add{}, {info(DType::float32, {n, 3}), info(DType::float32, {1, 3})});
  CHECK(out[0].dims == Dims{n, 3});
  const auto values = infer(op::Add{}, {info(DType::int64, {2}, {2, n}), info(DType::int64, {1}, {1})});
  CHECK(values[0].propagated[0].is(3));
  CHECK_FALSE(values[0].propagated[1].known());
}

TEST_CASE("Add: typed") {
  Tensor<float, Shape<2, 2>> a{{1, 2}, {3, 4}};
  Tensor<float, Shape<2>> b{10, 20};
  auto c = op::Add{}(a, b);
  static_assert(std::is_same_v<decltype(c), Tensor<float, Shape<2, 2>>>);
  CHECK(c(1, 1) == 24);
  CHECK(op::Add{}(a, 1.0f)(0, 0) == 2);
}
}  // namespace tenon

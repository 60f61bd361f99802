#include "tenon/op/math/p_relu.hpp"

#include "tenon/graph/session.hpp"
#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("PRelu: cases") {
  const float nan = std::nanf(""), inf = INFINITY;
  const Value x = t<float>({2, 3}, {-1, 2, -3, 4, -5, 0});
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{x, t<float>({}, {0.5})}, t<float>({2, 3}, {-0.5, 2, -1.5, 4, -2.5, 0})},
      {{x, t<float>({3}, {1, 2, 3})}, t<float>({2, 3}, {-1, 2, -9, 4, -10, 0})},
      {{x, t<float>({2, 1}, {-1, 2})}, t<float>({2, 3}, {1, 2, 3, 4, -10, 0})},
      {{x, t<float>({2, 3}, {1, 2, 3, 4, 5, 6})}, t<float>({2, 3}, {-1, 2, -9, 4, -25, 0})},
      {{x, t<float>({1, 1}, {0})}, t<float>({2, 3}, {0, 2, 0, 4, 0, 0})},
      {{t<float>({}, {-2}), t<float>({}, {3})}, t<float>({}, {-6})},
      {{t<float>({0, 2}, {}), t<float>({2}, {1, 2})}, t<float>({0, 2}, {})},
      {{t<float>({3}, {nan, -inf, inf}), t<float>({}, {2})}, t<float>({3}, {nan, -inf, inf})},
      {{t<float>({2}, {-1, 1}), t<float>({}, {nan})}, t<float>({2}, {nan, 1})},
      {{t<double>({2}, {-1, 1}), t<double>({}, {0.1})}, t<double>({2}, {-0.1, 1})},
      {{cast<float16>({2}, {-1, 1}), cast<float16>({}, {0.25})}, cast<float16>({2}, {-0.25, 1})},
      {{cast<bfloat16>({2}, {-1, 1}), cast<bfloat16>({}, {0.25})}, cast<bfloat16>({2}, {-0.25, 1})},
      {{t<int32_t>({3}, {-3, 4, INT32_MIN}), t<int32_t>({}, {2})}, t<int32_t>({3}, {-6, 4, 0})},
      {{t<int64_t>({2}, {-3, 4}), t<int64_t>({}, {-2})}, t<int64_t>({2}, {6, 4})},
      {{t<uint32_t>({2}, {UINT32_MAX, 4}), t<uint32_t>({}, {2})}, t<uint32_t>({2}, {UINT32_MAX, 4})},
      {{t<uint64_t>({2}, {UINT64_MAX, 4}), t<uint64_t>({}, {2})}, t<uint64_t>({2}, {UINT64_MAX, 4})},
  };
  for (const Row& row : rows) check(op::PRelu{}, row.in, {row.out});
  check_in_place(op::PRelu{}, {x, t<float>({3}, {1, 2, 3})}, 0);
  check_in_place(op::PRelu{}, {x, x}, 1);
  for (int version : {7, 9, 16})
    check(stated<op::PRelu>(version), {x, t<float>({3}, {1, 2, 3})},
          {t<float>({2, 3}, {-1, 2, -9, 4, -10, 0})});
}

TEST_CASE("PRelu: versions 1 and 6 have a slope for each channel") {
  // Channels: axis 1.
  const Value x = t<float>({1, 2, 2}, {-1, -2, -3, -4}), slopes = t<float>({2}, {1, 2}),
              by_channel = t<float>({1, 2, 2}, {-1, -2, -6, -8});
  const Value wide = t<float>({1, 2, 3}, {-1, -1, -1, -1, -1, -1}),
              matrix = t<float>({2, 2}, {-1, -2, -3, -4});
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{x, slopes}, by_channel},
      {{wide, slopes}, t<float>({1, 2, 3}, {-1, -1, -1, -2, -2, -2})},
      {{wide, t<float>({3}, {1, 2, 3})}, t<float>({1, 2, 3}, {-1, -2, -3, -1, -2, -3})},
      {{wide, t<float>({1}, {3})}, t<float>({1, 2, 3}, {-3, -3, -3, -3, -3, -3})},
      {{matrix, slopes}, t<float>({2, 2}, {-1, -4, -3, -8})},
      {{matrix, t<float>({}, {2})}, t<float>({2, 2}, {-2, -4, -6, -8})},
      {{matrix, matrix}, t<float>({2, 2}, {1, 4, 9, 16})},
      {{x, t<float>({2, 1}, {1, 2})}, by_channel},
      {{t<float>({2}, {-1, 1}), slopes}, t<float>({2}, {-1, 1})},
      {{t<float>({0, 2, 2}, {}), slopes}, t<float>({0, 2, 2}, {})},
      {{t<double>({1, 1, 1}, {-1}), t<double>({1}, {3})}, t<double>({1, 1, 1}, {-3})},
      {{cast<float16>({1, 1, 1}, {-1}), cast<float16>({1}, {3})}, cast<float16>({1, 1, 1}, {-3})},
  };
  for (const Row& row : rows) {
    check(op::PRelu_1{}, row.in, {row.out});
    for (int version : {1, 6}) check(stated<op::PRelu_1>(version), row.in, {row.out});
  }
  check_consumed_inputs<op::PRelu_1>({x, slopes}, by_channel);
  for (int version : {1, 6}) {
    check_fails(stated<op::PRelu_1>(version), {wide, t<float>({4}, {1, 2, 3, 4})},
                "slope (4) is not one for each channel of X (1,2,3)");
    check_fails(stated<op::PRelu_1>(version), {matrix, x}, "does not broadcast");
    check_fails(stated<op::PRelu_1>(version), {t<int32_t>({1}, {1}), t<int32_t>({1}, {1})},
                "cannot be tensor(int32)");
  }
  // Whether there is one slope for each channel, only the run knows.
  for (const Dims& dims : {Dims(), Dims::of_rank(3), Dims{1, Dim::unknown(), 2}}) {
    Graph g;
    const std::vector<ValueId> in{g.add_input("x", DType::float32, dims),
                                  g.add_input("slope", DType::float32, {})};
    const std::string name[] = {"y"};
    g.add_output("y", g.add_node("n", stated<op::PRelu_1>(6).op, in, name)[0]);
    check_equal(Session(std::move(g)).run({{"x", x}, {"slope", slopes}})["y"], by_channel);
  }
}

TEST_CASE("PRelu: errors, symbols, typed calls") {
  const Value x = t<float>({2, 3}, {-1, 2, -3, 4, -5, 0}), i = t<int32_t>({1}, {1});
  check_fails(op::PRelu{}, {x, t<float>({2}, {1, 2})}, "slope (2) does not broadcast to X (2,3)");
  check_fails(op::PRelu{}, {x, t<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6})}, "slope (1,2,3) does not broadcast");
  check_fails(op::PRelu{}, {t<float>({1}, {1}), t<float>({2}, {1, 2})},
              "slope (2) does not broadcast to X (1)");
  check_fails(op::PRelu{}, {i, i}, "cannot be tensor(int32)", 1, 7);
  check_fails(op::PRelu{}, {cast<bfloat16>({1}, {1}), cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)",
              1, 9);
  const auto n = Dim::symbol(1);
  const auto f = DType::float32;
  CHECK(infer(op::PRelu{}, {info(f, {n, 3}), info(f, {n, 1})})[0].dims == Dims{n, 3});
  CHECK(infer(op::PRelu{}, {info(f, {n, 3}), info(f, Dims())})[0].dims == Dims{n, 3});
  CHECK_FALSE(infer(op::PRelu{}, {info(f, Dims()), info(f, {3})})[0].dims.ranked());

  const auto y = op::PRelu{}(Tensor<float, Shape<2>>{-2, 2}, 0.25f);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2>>>);
  CHECK(y[0] == -0.5f);
}
}  // namespace tenon

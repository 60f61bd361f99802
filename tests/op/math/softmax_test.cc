#include "tenon/op/math/softmax.hpp"

#include "tenon/graph/session.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Softmax: cases") {
  const float nan = std::nanf(""), inf = INFINITY;
  const float a = 0.09003057f, b = 0.24472848f, c = 0.66524094f, h = 0.5f, p = 0.26894143f, q = 0.7310586f;
  const Value x = t<float>({2, 3}, {0, 1, 2, 10, 11, 12});
  struct Row {
    op::Softmax op;
    Value in, out;
  } rows[] = {
      {{}, x, t<float>({2, 3}, {a, b, c, a, b, c})},
      {{.axis = 1}, x, t<float>({2, 3}, {a, b, c, a, b, c})},
      {{.axis = 0}, t<float>({2, 2}, {0, 5, 1, 5}), t<float>({2, 2}, {p, h, q, h})},
      {{.axis = -2}, t<float>({1, 2, 2}, {0, 5, 1, 5}), t<float>({1, 2, 2}, {p, h, q, h})},
      {{}, t<float>({0, 3}, {}), t<float>({0, 3}, {})},
      {{}, t<float>({3, 0}, {}), t<float>({3, 0}, {})},
      {{},
       t<float>({0, int64_t{1} << 40, int64_t{1} << 40}, {}),
       t<float>({0, int64_t{1} << 40, int64_t{1} << 40}, {})},
      {{}, t<float>({2}, {1e30f, -1e30f}), t<float>({2}, {1, 0})},
      {{}, t<float>({2}, {-inf, 3}), t<float>({2}, {0, 1})},
      {{}, t<float>({2}, {-inf, -inf}), t<float>({2}, {nan, nan})},
      {{}, t<float>({2}, {nan, 3}), t<float>({2}, {nan, nan})},
      {{}, t<double>({2}, {0, 1}), t<double>({2}, {0.2689414213699951, 0.7310585786300049})},
  };
  for (const Row& row : rows) check(row.op, {row.in}, {row.out});
  check(op::Softmax{}, {cast<float16>({3}, {0, 1, 2})}, {cast<float16>({3}, {a, b, c})}, 1e-3);
  check(op::Softmax{}, {cast<bfloat16>({3}, {0, 1, 2})}, {cast<bfloat16>({3}, {a, b, c})}, 1e-2);
}

TEST_CASE("Softmax: versions 1 and 11 normalise over all axes from `axis` on") {
  const Value x = t<float>({2, 1, 2}, {0, 1, 0, 1});
  const float p = 0.26894143f, q = 0.7310586f;
  check(op::Softmax_1{}, {x}, {t<float>({2, 1, 2}, {p, q, p, q})});
  check(op::Softmax_1{.axis = 0}, {x}, {t<float>({2, 1, 2}, {p / 2, q / 2, p / 2, q / 2})});
  check(op::Softmax_1{.axis = -1}, {x}, {t<float>({2, 1, 2}, {p, q, p, q})}, 1e-6, 1e-7, 1);
  check(op::Softmax_1{.axis = 3}, {x}, {t<float>({2, 1, 2}, {1, 1, 1, 1})});
  check(op::Softmax_1{}, {t<float>({0, 2}, {})}, {t<float>({0, 2}, {})});
  check(op::Softmax_1{}, {t<double>({1, 2}, {0, 0})}, {t<double>({1, 2}, {0.5, 0.5})});
  check(op::Softmax_1{}, {cast<float16>({1, 2}, {0, 0})}, {cast<float16>({1, 2}, {0.5, 0.5})});
  check_fails(op::Softmax_1{.axis = 4}, {x}, "axis 4 outside of [-3, 2]");
  check_fails(op::Softmax_1{}, {cast<bfloat16>({1, 1}, {0})}, "input input cannot be tensor(bfloat16)");
}

TEST_CASE("Softmax: newest nodes stand for versions 1 and 11") {
  const float p = 0.26894143f, q = 0.7310586f;
  const Value x = t<float>({2, 1, 2}, {0, 1, 0, 1}), along = t<float>({2, 1, 2}, {p, q, p, q});
  for (int version : {1, 11}) {
    CAPTURE(version);
    const auto softmax = [&](int64_t axis) { return stated<op::Softmax_1>(version, {{"axis", axis}}); };
    check(stated<op::Softmax_1>(version), {x}, {along});
    for (int64_t axis : {1, 2, -1, -2}) check(softmax(axis), {x}, {along});
    for (int64_t axis : {0, -3})
      check(softmax(axis), {x}, {t<float>({2, 1, 2}, {p / 2, q / 2, p / 2, q / 2})});
    check(softmax(3), {x}, {t<float>({2, 1, 2}, {1, 1, 1, 1})});
    check(softmax(0), {t<float>({1, 2, 1}, {0, 1})}, {t<float>({1, 2, 1}, {p, q})});
    check(softmax(0), {t<float>({1, 1}, {5})}, {t<float>({1, 1}, {1})});
    check(softmax(1), {t<float>({2, 2, 2}, {0, 1, 0, 1, 1, 0, 1, 0})},
          {t<float>({2, 2, 2}, {p / 2, q / 2, p / 2, q / 2, q / 2, p / 2, q / 2, p / 2})});
    check(softmax(1), {t<float>({2, 0, 3}, {})}, {t<float>({2, 0, 3}, {})});
    check(softmax(1), {t<float>({0, 2}, {})}, {t<float>({0, 2}, {})});
    check_fails(softmax(4), {x}, "axis 4 outside of [-3, 2]");
    check_fails(softmax(1), {cast<bfloat16>({1, 1}, {0})}, "input input cannot be tensor(bfloat16)");
  }
  // How many extents are not 1, only the run knows.
  for (const Dims& dims : {Dims(), Dims::of_rank(3), Dims{2, Dim::unknown(), 2}}) {
    Graph g;
    const ValueId in = g.add_input("x", DType::float32, dims);
    const std::string name[] = {"y"};
    g.add_output("y", g.add_node("n", stated<op::Softmax_1>(11).op, {in}, name)[0]);
    check_equal(Session(std::move(g)).run({{"x", x}})["y"], along);
  }
}

TEST_CASE("Softmax: what is refused, symbols, typed") {
  check_fails(op::Softmax{}, {t<float>({}, {1})}, "input: rank 0, expected at least 1");
  check_fails(op::Softmax{.axis = 2}, {t<float>({1, 1}, {1})}, "axis 2 outside of [-2, 1]");
  check_fails(op::Softmax{}, {t<int32_t>({1}, {1})}, "input input cannot be tensor(int32)");
  const auto n = Dim::symbol(1);
  CHECK(infer(op::Softmax{}, {info(DType::float32, {n, 3})})[0].dims == Dims{n, 3});
  Tensor<float, Shape<1, 2>> x{{1, 1}};
  const auto y = op::Softmax{}(x);
  CHECK(y[0] == 0.5f);
}
}  // namespace tenon

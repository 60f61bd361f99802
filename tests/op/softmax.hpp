// The table of cases that Softmax and LogSoftmax share.
#pragma once

#include "tenon/graph/session.hpp"
#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon::test {

/// Op_1 is the operator's form of version 1; `log` says whether the results are logarithms.
template <class Op, class Op_1>
void check_softmax(bool log) {
  const double nan = NAN, a = 0.09003057317038046, b = 0.24472847105479764, c = 0.6652409557748218,
               p = 0.2689414213699951, q = 0.7310585786300049;
  const auto of = [log]<class T = float>(const Extents& extents,
                                         std::initializer_list<double> probabilities) {
    std::vector<double> list(probabilities);
    for (double& v : list)
      if (log) v = std::log(v);
    Tensor<T> y(extents);
    for (int64_t k = 0; k < y.size(); ++k)
      y[k] = T(static_cast<compute_t<T>>(list[static_cast<std::size_t>(k)]));
    return Value(std::move(y));
  };
  const Value x = t<float>({2, 3}, {0, 1, 2, 10000, 10001, 10002});
  const Extents empty{0, int64_t{1} << 40, int64_t{1} << 40};
  struct Row {
    Op op;
    Value in, out;
  } rows[] = {
    {{}, x, of({2, 3}, {a, b, c, a, b, c})},
    {{.axis = 1}, x, of({2, 3}, {a, b, c, a, b, c})},
    {{.axis = 0}, t<float>({2, 2}, {0, 5, 1, 5}), of({2, 2}, {p, 0.5, q, 0.5})},
    {{.axis = -2}, t<float>({1, 2, 2}, {0, 5, 1, 5}), of({1, 2, 2}, {p, 0.5, q, 0.5})},
    {{}, t<float>({0, 3}, {}), t<float>({0, 3}, {})},
    {{}, t<float>({3, 0}, {}), t<float>({3, 0}, {})},
    {{}, t<float>(empty, {}), t<float>(empty, {})},
    {{}, t<float>({2}, {-INFINITY, 3}), of({2}, {0, 1})},
    {{}, t<float>({2}, {-INFINITY, -INFINITY}), of({2}, {nan, nan})},
    {{}, t<float>({2}, {NAN, 3}), of({2}, {nan, nan})},
    {{}, t<double>({2}, {0, 1}), of.template operator()<double>({2}, {p, q})},
  };
  for (const Row& row : rows) check(row.op, {row.in}, {row.out});
  check(Op{}, {cast<float16>({3}, {0, 1, 2})}, {of.template operator()<float16>({3}, {a, b, c})}, 1e-3);
  check(Op{}, {cast<bfloat16>({3}, {0, 1, 2})}, {of.template operator()<bfloat16>({3}, {a, b, c})}, 1e-2);
  check_in_place(Op{}, {x}, 0);

  // Versions 1 and 11 normalise over all axes from `axis` on; newest nodes stand for them where they can.
  const Value old = t<float>({2, 1, 2}, {0, 1, 0, 1}), along = of({2, 1, 2}, {p, q, p, q});
  for (int version : {1, 11}) {
    CAPTURE(version);
    const auto from = [&](int64_t axis) { return stated<Op_1>(version, {{"axis", axis}}); };
    check(stated<Op_1>(version), {old}, {along});
    check(stated<Op_1>(version), {t<float>({2}, {5, 6})}, {of({2}, {1, 1})});
    for (int64_t axis : {1, 2, -1, -2}) check(from(axis), {old}, {along});
    for (int64_t axis : {0, -3}) check(from(axis), {old}, {of({2, 1, 2}, {p / 2, q / 2, p / 2, q / 2})});
    check(from(3), {old}, {of({2, 1, 2}, {1, 1, 1, 1})});
    check(from(0), {t<float>({1, 2, 1}, {0, 1})}, {of({1, 2, 1}, {p, q})});
    check(from(0), {t<float>({1, 1}, {5})}, {of({1, 1}, {1})});
    check(from(1), {t<float>({2, 2, 2}, {0, 1, 0, 1, 1, 0, 1, 0})},
          {of({2, 2, 2}, {p / 2, q / 2, p / 2, q / 2, q / 2, p / 2, q / 2, p / 2})});
    check(from(1), {t<double>({1, 2}, {0, 1})}, {of.template operator()<double>({1, 2}, {p, q})});
    check(from(1), {cast<float16>({1, 2}, {0, 0})}, {of.template operator()<float16>({1, 2}, {0.5, 0.5})},
          1e-3);
    check(from(1), {t<float>({2, 0, 3}, {})}, {t<float>({2, 0, 3}, {})});
    check(from(1), {t<float>({0, 2}, {})}, {t<float>({0, 2}, {})});
    check_fails(from(4), {old}, "axis 4 outside of [-3, 2]");
    check_fails(from(1), {cast<bfloat16>({1, 1}, {0})}, "input input cannot be tensor(bfloat16)");
    std::vector<op::Info> out(1);
    CHECK(from(1).op.infer(std::vector{info(DType::float32, {3})}, out).of_files() == (version == 11));
  }
  // How many extents are not 1, only the run knows.
  for (const Dims& dims : {Dims(), Dims::of_rank(3), Dims{2, Dim::unknown(), 2}}) {
    Graph g;
    const ValueId in = g.add_input("x", DType::float32, dims);
    const std::string name[] = {"y"};
    g.add_output("y", g.add_node("n", stated<Op_1>(11).op, {in}, name)[0]);
    check_equal(Session(std::move(g)).run({{"x", old}})["y"], along);
  }

  check_fails(Op{}, {t<float>({}, {1})}, "input: rank 0, expected at least 1");
  check_fails(Op{.axis = 2}, {t<float>({1, 1}, {1})}, "axis 2 outside of [-2, 1]");
  check_fails(Op{}, {t<int32_t>({1}, {1})}, "input input cannot be tensor(int32)");
  const auto n = Dim::symbol(1);
  CHECK(infer(Op{}, {info(DType::float32, {n, 3})})[0].dims == Dims{n, 3});
  const auto y = apply<Op{.axis = 1}>(Tensor<float, Shape<1, 2>>{{1, 1}});
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 2>>>);
  CHECK(y[0] == doctest::Approx(log ? -0.6931472 : 0.5));
}

}  // namespace tenon::test

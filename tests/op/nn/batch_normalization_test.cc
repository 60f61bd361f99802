#include "tenon/op/nn/batch_normalization.hpp"

#include "tenon/graph/session.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("BatchNormalization: inference") {
  const float nan = std::nanf("");
  const auto pair = [](float a, float b) { return t<float>({2}, {a, b}); };
  const Value x = t<float>({1, 2, 1, 2}, {1, 3, -1, 5}), y = t<float>({1, 2, 1, 2}, {0, 1, 1, 7});
  const std::vector<Value> parameters{x, pair(1, 2), pair(0, 1), pair(1, -1), pair(4, 4)};
  const op::BatchNormalization plain{.epsilon = 0};
  check(plain, parameters, {y});
  check(plain, parameters, {y}, 1e-6, 1e-7, 14);
  for (int version : {14, 15})
    check(stated<op::BatchNormalization>(version, {{"epsilon", 0.0f}}), parameters, {y});
  for (int version : {1, 6, 7, 9})
    check(op::BatchNormalization_1{.epsilon = 0, .is_test = 1}, parameters, {y}, 1e-6, 1e-7, version);
  for (int version : {7, 9})
    check(stated<op::BatchNormalization_1>(version, {{"epsilon", 0.0f}}), parameters, {y});
  check(stated<op::BatchNormalization_1>(
            1, {{"consumed_inputs", ints{0}}, {"epsilon", 0.0f}, {"is_test", int64_t{1}}}),
        parameters, {y});
  check(stated<op::BatchNormalization_1>(6, {{"epsilon", 0.0f}, {"is_test", int64_t{1}}}), parameters, {y});
  for (int version : {7, 9})  // epsilon is 1e-5 by default
    check(stated<op::BatchNormalization_1>(version, {{"momentum", 0.5f}}), parameters,
          run(op::BatchNormalization{}, parameters));

  const Value one = t<float>({1}, {1}), zero = t<float>({1}, {0});
  struct Row {
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{t<float>({2, 2}, {1, 2, 3, 4}), pair(1, 2), pair(0, 1), pair(1, 2), pair(4, 4)},
       t<float>({2, 2}, {0, 1, 1, 3})},
      {{t<float>({3}, {1, 2, 3}), one, zero, one, one}, t<float>({3}, {0, 1, 2})},
      {{t<float>({1, 1}, {nan}), one, zero, one, one}, t<float>({1, 1}, {nan})},
      {{t<float>({0, 1, 2}, {}), one, zero, one, one}, t<float>({0, 1, 2}, {})},
      {{t<float>({2, 0}, {}), t<float>({0}, {}), t<float>({0}, {}), t<float>({0}, {}), t<float>({0}, {})},
       t<float>({2, 0}, {})},
      {{t<float>({1, 1}, {1}), one, zero, zero, t<float>({1}, {-1})}, t<float>({1, 1}, {nan})},
      {{t<double>({1, 1}, {3}), one, zero, cast<bfloat16>({1}, {1}), cast<bfloat16>({1}, {4})},
       t<double>({1, 1}, {1})},
      {{cast<float16>({1, 1}, {3}), one, zero, t<double>({1}, {1}), t<double>({1}, {4})},
       cast<float16>({1, 1}, {1})},
      {{cast<bfloat16>({1, 1}, {3}), cast<float16>({1}, {1}), cast<float16>({1}, {0}), one,
        t<float>({1}, {4})},
       cast<bfloat16>({1, 1}, {1})},
  };
  for (const Row& row : rows) check(plain, row.in, {row.out});
  check(op::BatchNormalization{.epsilon = 3}, {t<float>({1, 1}, {5}), one, zero, one, one},
        {t<float>({1, 1}, {2})});
}

TEST_CASE("BatchNormalization: training") {
  // Channel 0 is (1,3,5,7): mean 4, variance 5. Channel 1 is constant.
  const Value x = t<float>({2, 2, 2}, {1, 3, 2, 2, 5, 7, 2, 2});
  const auto pair = [](float a, float b) { return t<float>({2}, {a, b}); };
  const std::vector<Value> in{x, pair(std::sqrt(5.0f), 1), pair(0, 9), pair(0, 2), pair(1, 2)};
  const Value y = t<float>({2, 2, 2}, {-3, -1, 9, 9, 1, 3, 9, 9});
  const Value running_mean = pair(2, 2), running_var = pair(3, 1);
  const float momentum = 0.5f, epsilon = 1e-12f;
  check(op::BatchNormalization{epsilon, momentum, 1}, in, {y, running_mean, running_var}, 1e-5);
  check(op::BatchNormalization{epsilon, momentum, 1}, in, {y}, 1e-5);
  check(op::BatchNormalization{epsilon, momentum, 1}, in, {y, running_mean, running_var}, 1e-5, 1e-7, 14);
  const std::vector<Value> all{y, running_mean, running_var, pair(4, 2), pair(5, 0)};
  const Attributes both{{"epsilon", epsilon}, {"momentum", momentum}};
  for (int version : {7, 9}) {
    check(op::BatchNormalization_1{.epsilon = epsilon, .is_test = 1, .momentum = momentum}, in, all, 1e-5,
          1e-7, version);
    check(stated<op::BatchNormalization_1>(version, both), in, all, 1e-5);
    check(stated<op::BatchNormalization_1>(version, both), in, {y, running_mean, running_var}, 1e-5);
  }
  for (int version : {1, 6}) {
    check(op::BatchNormalization_1{.epsilon = epsilon, .momentum = momentum}, in, all, 1e-5, 1e-7, version);
    check(op::BatchNormalization_1{.epsilon = epsilon, .momentum = momentum}, in, {y}, 1e-5, 1e-7, version);
  }
  check(stated<op::BatchNormalization_1>(6, both), in, all, 1e-5);
  check(stated<op::BatchNormalization_1>(6, both), in, {y}, 1e-5);
  // Running statistics keep their own type.
  check(op::BatchNormalization{epsilon, momentum, 1},
        {cast<float16>({2, 1}, {1, 3}), t<float>({1}, {1}), t<float>({1}, {0}), t<double>({1}, {0}),
         t<double>({1}, {0})},
        {cast<float16>({2, 1}, {-1, 1}), t<double>({1}, {1}), t<double>({1}, {0.5})});
  check(op::BatchNormalization{epsilon, momentum, 1},
        {t<double>({2, 1}, {1, 3}), t<double>({1}, {1}), t<double>({1}, {0}), cast<bfloat16>({1}, {0}),
         cast<bfloat16>({1}, {0})},
        {t<double>({2, 1}, {-1, 1}), cast<bfloat16>({1}, {1}), cast<bfloat16>({1}, {0.5})});
  const float nan = std::nanf("");
  check(
      op::BatchNormalization{epsilon, momentum, 1},
      {t<float>({0, 1}, {}), t<float>({1}, {1}), t<float>({1}, {0}), t<float>({1}, {0}), t<float>({1}, {0})},
      {t<float>({0, 1}, {}), t<float>({1}, {nan}), t<float>({1}, {nan})});
}

TEST_CASE("BatchNormalization: before version 14 results that nothing reads make a node train, too") {
  const Value x = t<float>({2, 1}, {1, 3}), one = t<float>({1}, {1}), zero = t<float>({1}, {0});
  const op::BatchNormalization_1 op{.epsilon = 1e-12f, .is_test = 1};
  for (int version : {7, 9})
    for (std::size_t results : {1, 2, 5}) {
      Graph g;
      const std::vector<ValueId> in{g.add_input("x", DType::float32, {2, 1}),
                                    g.add_constant({}, one.tensor()), g.add_constant({}, zero.tensor()),
                                    g.add_constant({}, zero.tensor()), g.add_constant({}, one.tensor())};
      g.add_output("y", g.add_node({}, any(op, version), in, std::vector<std::string>(results))[0]);
      check_equal(Session(std::move(g)).run({{"x", x}})[0], results == 1 ? x : t<float>({2, 1}, {-1, 1}),
                  1e-5);
    }
}

TEST_CASE("BatchNormalization: before version 9 each element can be a channel") {
  const Value x = t<float>({2, 2}, {1, 10, 3, 30}), two = t<float>({2}, {1, 1}), zero = t<float>({2}, {0, 0});
  const std::vector<Value> in{x, two, zero, t<float>({2}, {1, 10}), two};
  const Value y = t<float>({2, 2}, {0, 0, 2, 20});
  check(op::BatchNormalization_1{.epsilon = 0, .is_test = 1, .spatial = 0}, in, {y}, 1e-6, 1e-7, 7);
  check(stated<op::BatchNormalization_1>(7, {{"epsilon", 0.0f}, {"spatial", int64_t{0}}}), in, {y});
  check(stated<op::BatchNormalization_1>(
            6, {{"epsilon", 0.0f}, {"is_test", int64_t{1}}, {"spatial", int64_t{0}}}),
        in, {y});
  const Value wide = t<float>({2, 1, 2}, {1, 10, 3, 30});
  const auto plane = [](float a, float b) { return t<float>({1, 2}, {a, b}); };
  const std::vector<Value> planes{wide, plane(1, 2), plane(0, 1), plane(0, 0), plane(0, 0)},
      out{t<float>({2, 1, 2}, {-1, -1, 1, 3}), plane(2, 20), plane(1, 100), plane(2, 20), plane(1, 100)};
  for (int version : {1, 6})
    check(op::BatchNormalization_1{.epsilon = 0, .momentum = 0, .spatial = 0}, planes, out, 1e-6, 1e-7,
          version);
  for (int version : {6, 7})
    check(stated<op::BatchNormalization_1>(version,
                                           {{"epsilon", 0.0f}, {"momentum", 0.0f}, {"spatial", int64_t{0}}}),
          planes, out);
  check_refused<op::BatchNormalization_1>(9, {{"spatial", int64_t{0}}},
                                          "version 9 has no attribute 'spatial'");
}

TEST_CASE("BatchNormalization: errors") {
  const Value x = t<float>({1, 2}, {1, 2}), two = t<float>({2}, {1, 1}), three = t<float>({3}, {1, 1, 1});
  check_fails(op::BatchNormalization{}, {x, two, two, two, three}, "extents of channels differ: 2 and 3");
  check_fails(op::BatchNormalization{}, {x, x, two, two, two}, "scale: rank 2, expected 1");
  check_fails(op::BatchNormalization{}, {t<float>({}, {1}), two, two, two, two}, "X is a scalar");
  check_fails(op::BatchNormalization{}, {x, two, two, two, two}, "only training has more than 1", 3);
  for (int version : {1, 6})
    check_fails(op::BatchNormalization_1{.is_test = 1}, {x, two, two, two, two},
                "only training has more than 1", 5, version);
  check_fails(stated<op::BatchNormalization_1>(6, {{"is_test", int64_t{1}}}), {x, two, two, two, two},
              "only training has more than 1", 5);
  check_refused<op::BatchNormalization_1>(1, {}, "attribute 'consumed_inputs' is required");
  check_refused<op::BatchNormalization_1>(6, {{"consumed_inputs", ints{0}}},
                                          "version 6 has no attribute 'consumed_inputs'");
  check_refused<op::BatchNormalization_1>(7, {{"is_test", int64_t{1}}},
                                          "version 7 has no attribute 'is_test'");
  check_refused<op::BatchNormalization_1>(9, {{"training_mode", int64_t{1}}},
                                          "version 9 has no attribute 'training_mode'");
  const Value d = t<double>({2}, {1, 1});
  check_fails(op::BatchNormalization{}, {x, d, d, two, two},
              "input scale is tensor(double), but T is tensor(float)", 1, 14);
  check(op::BatchNormalization{}, {x, two, two, d, d}, run(op::BatchNormalization{}, {x, two, two, two, two}),
        1e-6, 1e-7, 14);
  for (int version : {1, 6, 7, 9})
    check_fails(op::BatchNormalization_1{}, {x, two, two, d, d},
                "input mean is tensor(double), but T is tensor(float)", 1, version);
  check_fails(op::BatchNormalization{}, {x, two, two, two}, "input input_var is missing");
}

TEST_CASE("BatchNormalization: symbols, and typed") {
  const auto n = Dim::symbol(1);
  const auto f = [](const Dims& d) { return info(DType::float32, d); };
  const auto out = infer(op::BatchNormalization{.training_mode = 1},
                         {f({n, 3, n}), f({3}), f({3}), f({3}), f({Dim()})}, 3);
  CHECK(out[0].dims == Dims{n, 3, n});
  CHECK(out[2].dims == Dims{3});
  const auto unranked =
      infer(op::BatchNormalization{.training_mode = 1}, {f(Dims()), f({3}), f({3}), f({3}), f({3})}, 2);
  CHECK_FALSE(unranked[0].dims.ranked());
  CHECK(unranked[1].dims == Dims{3});
  Tensor<float, Shape<1, 1>> x{{3}};
  Tensor<float, Shape<1>> one{1};
  const auto y = apply<op::BatchNormalization{.epsilon = 0}>(x, one, one, one, one);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 1>>>);
  CHECK(y.item() == 3);
}
}  // namespace tenon

#include "tenon/graph/session.hpp"
#include "tests/graph/gradients/check.hpp"

namespace tenon::test {

TEST_CASE("Movement") {
  check_op(op::Reshape{}, {reals({2, 6}), ints({3, -1})});
  check_op(op::Flatten{}, {reals({2, 3, 2})});
  check_op(op::Squeeze{}, {reals({2, 1, 3}), ints({1})});
  check_op(op::Unsqueeze{}, {reals({2, 3}), ints({0, -1})});
  check_op(op::Expand{}, {reals({2, 1}), ints({2, 2, 3})});
  check_op(op::Transpose{}, {reals({2, 3, 2})});
  check_op(op::Transpose{.perm = {1, 2, 0}}, {reals({2, 3, 4})});
  check_op(op::Concat{.axis = 1}, {reals({2, 1}), reals({2, 3}), reals({2, 2})});
  check_op(op::Concat{.axis = -1}, {reals({2, 1}), reals({2, 3})});
  check_operator(old("Concat", 1), {reals({2, 1}), reals({2, 3})});
  check_op(op::Split{.axis = 1}, {reals({2, 5}), ints({2, 0, 3})}, 3, {0, 2});
  check_operator(old("Split", 1, {{"axis", int64_t{1}}, {"split", std::vector<int64_t>{2, 3}}}),
                 {reals({2, 5})}, 2, {0, 1});
  check_op(op::Slice{}, {reals({4, 5}), ints({3, 0}), ints({-10, 4}), ints({0, 1}), ints({-1, 2})});
  check_op(op::Tile{}, {reals({2, 3}), ints({2, 2})});
  check_op(op::Compress{.axis = 1}, {reals({2, 3}), bools({3}, {true, false, true})});
  check_op(op::DepthToSpace{.blocksize = 2}, {reals({1, 4, 2, 1})});
  check_op(op::SpaceToDepth{.blocksize = 2}, {reals({1, 1, 2, 4})});
  check_op(op::ReverseSequence{}, {reals({3, 2}), ints({2, 3})});
  check_op(op::Pad{}, {reals({2, 3}), ints({1, -1, 0, 2}), reals({})});
  check_op(op::Pad{}, {reals({2, 3}), ints({1, 2}), none(), ints({1})});
  check_op(op::Pad{.mode = "reflect"}, {reals({2, 3}), ints({0, 2, 1, 1})});
  check_op(op::Pad{.mode = "edge"}, {reals({2, 3}), ints({0, 2, 1, 1})});
  check_op(op::Pad{.mode = "wrap"}, {reals({2, 3}), ints({0, 2, 1, 1})});
  check_op(op::Pad{.mode = "edge"}, {reals({2, 3}), ints({0, 2, 1, 1}), reals({})});
  check_operator(
      old("Pad", 10, {{"mode", std::string("reflect")}, {"pads", std::vector<int64_t>{0, 1, 1, 2}}}),
      {reals({2, 3})});
  check_op(op::Gather{}, {reals({3, 2}), ints({2, 2}, {0, -1, 2, 0})});
  check_op(op::Gather{.axis = 1}, {reals({2, 3}), ints({}, {2})});
  check_op(op::GatherElements{.axis = 1}, {reals({2, 3}), ints({2, 2}, {0, 0, -1, 1})});
  check_op(op::GatherND{}, {reals({2, 3}), ints({3, 1}, {0, 1, 0})});
  check_op(op::ScatterElements{.axis = 1}, {reals({2, 3}), ints({2, 1}, {0, 2}), reals({2, 1})});
  check_op(op::ScatterElements{.axis = 1, .reduction = "add"},
           {reals({2, 3}), ints({2, 2}, {0, 0, 2, 1}), reals({2, 2})});
  check_op(op::ScatterND{}, {reals({3, 2}), ints({2, 1}, {2, 0}), reals({2, 2})});
  check_op(op::ScatterND{.reduction = "add"}, {reals({3, 2}), ints({2, 1}, {2, 2}), reals({2, 2})});
  check_op(op::TopK{}, {reals({2, 5}), ints({2})}, 2);
  check_op(op::Trilu{}, {reals({3, 3})});
  check_op(op::CumSum{.exclusive = 1}, {reals({2, 3}), ints({}, {1})});
  check_op(op::CumSum{.reverse = 1}, {reals({2, 3}), ints({}, {0})});
  for (int64_t exclusive : {0, 1})
    for (int64_t reverse : {0, 1}) {
      const op::CumProd product{.exclusive = exclusive, .reverse = reverse};
      check_op(product, {reals({2, 4}), ints({}, {1})});
      check_op(product, {reals({2, 4}, {1.5, 0, 2, 3, 0, 2, 0, 1}), ints({}, {-1})});
    }
  const Given cache = reals({2, 4, 2}), update = reals({2, 2, 2});
  check_op(op::TensorScatter{}, {cache, update, ints({1, 2})});
  check_op(op::TensorScatter{.axis = 1, .mode = "circular"}, {cache, update, late(ints({3, -1}))});
  check_op(op::TensorScatter{}, {cache, update});
  check_op(op::Dropout{}, {reals({2, 3})});
  check_op(op::Dropout{}, {reals({2, 3}), none(), bools({}, {false})});
  for (const char* reduction : {"mul", "max", "min"}) {
    check_op(op::ScatterElements{.axis = 1, .reduction = reduction},
             {reals({2, 3}), ints({2, 2}, {0, 0, 2, 1}), reals({2, 2})});
    check_op(op::ScatterND{.reduction = reduction}, {reals({3, 2}), ints({2, 1}, {2, -1}), reals({2, 2})});
  }
  check_twice(op::Slice{}, {reals({4}), ints({1}), ints({3})});
}

TEST_CASE("Dropout in training: the mask is shared, and the ratio scales what is kept") {
  const Given yes = bools({}, {true}), ratio = reals({}, 0.3, 0.4);
  check_op(op::Dropout{.seed = 3}, {reals({4, 3}), ratio, yes}, 2);
  check_op(op::Dropout{.seed = 3}, {reals({4, 3}), none(), yes});  // the mask is no result
  check_op(op::Dropout{.seed = 3}, {reals({4, 3}), reals({1}, 0.3, 0.4), late(yes)});
  check_op(op::Dropout{.seed = 3}, {reals({4, 3}), ratio, late(bools({}, {false}))});
  // Without a seed, runs differ, but not the elements that are kept within one.
  for (const AnyOperator& op : {any(op::Dropout{}), old("Dropout", 1), old("Dropout", 6)}) {
    Graph g;
    const ValueId x = g.add_input("x", DType::float64, {50});
    const ValueId training = g.add_constant({}, Tensor<bool>(Extents{}, {true}));
    std::vector<ValueId> in{x};
    if (op.version() > 10) in.insert(in.end(), {-1, training});
    const ValueId y = g.add_node({}, op, in, {})[0];
    g.add_output("y", y);
    g.add_output("d", add_gradient(g, {.xs = {x}, .y = y}, standard_registry())[0]);
    Tensor<double> ones(Extents{50});
    std::fill(ones.begin(), ones.end(), 1.0);
    const Outputs out = Session(std::move(g)).run({{"x", ones}});
    const auto kept = out["y"].view<double>(), slope = out["d"].view<double>();
    CHECK(std::equal(kept.begin(), kept.end(), slope.begin()));
  }
}

TEST_CASE("Slopes of scattered products with zeros, and of equal extrema") {
  const Value x = Tensor<double>(Extents{4}, {2, 0, 0, 3}), at = Tensor<int64_t>(Extents{5}, {0, 0, 1, 2, 3});
  const Value u = Tensor<double>(Extents{5}, {5, 0, 7, 0, 3});
  using Slopes = std::vector<double>;
  CHECK(slopes(any(op::ScatterElements{.reduction = "mul"}), {x, at, u}) ==
        Slopes{0, 14, 0, 12, 0, 10, 0, 0, 12});
  CHECK(slopes(any(op::ScatterElements{.reduction = "max"}), {x, at, u}) ==
        Slopes{0, 0, 1.5, 2, 1, 0, 2, 1.5, 2});
}

}  // namespace tenon::test

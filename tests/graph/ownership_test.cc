// Who may write the elements that go into a session, stand in it, and come out of it.
#include <doctest/doctest.h>

#include "tenon/graph/session.hpp"
#include "tenon/op/math/exp.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/sequence/sequence_construct.hpp"
#include "tenon/op/tensor/identity.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tests/graph/build.hpp"

namespace tenon {
using namespace test;

namespace {

const AnyTensor& item(const Value& sequence) { return sequence.sequence().items[0].tensor(); }

/// x, the same under another name, copied under other extents, and what elementwise operators make of it, one
/// over the other's result.
Graph all_of_one() {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {2});
  g.add_output("x", x);
  g.add_output("same", node(g, op::Identity{}, {x}));
  g.add_output("row", node(g, op::Reshape{}, {x, g.add_constant({}, Tensor<int64_t>({2}, {1, 2}))}));
  g.add_output("y", node(g, op::Neg{}, {node(g, op::Neg{}, {node(g, op::Exp{}, {x})})}));
  return g;
}

}  // namespace

TEST_CASE("what goes into a run is read where it lies, and not written") {
  const Session s(all_of_one());
  Tensor<float> mine({2}, {0, 0});
  const Tensor<float> constant({2}, {0, 0});
  static const float file[2] = {0, 0};
  struct Row {
    Value given;
    const void* data;
  } rows[] = {{mine, mine.data()},
              {constant, constant.data()},
              {AnyTensor(DType::float32, {2}, Storage::keep(file, sizeof file, 0)), file}};
  for (const Row& row : rows) {
    CAPTURE(&row - rows);
    Outputs out;
    for (int round = 0; round < 2; ++round) {
      s.run({{"x", row.given}}, out);
      for (const char* name : {"x", "same"}) {
        CAPTURE(name);
        CHECK(out[name].tensor().data() == row.data);
        CHECK_THROWS_AS(out[name].tensor().out(), Error);
        Value taken = out[name];
        auto own = std::move(taken).as<float>();
        own[0] = 9;
        CHECK(out[name].view<float>()[0] == 0);
      }
      for (const char* name : {"row", "y"}) {
        CAPTURE(name);
        Value taken = out[name];
        const void* const data = taken.tensor().data();
        auto own = std::move(taken).as<float>();
        CHECK(own.data() == data);
        CHECK(own[1] == (name[0] == 'y' ? 1 : 0));
        own[1] = 9;
      }
    }
  }
  CHECK(rows[0].given.tensor().writable());
}

TEST_CASE("an output of a temporary is the value itself") {
  const Session s(all_of_one());
  const Feeds feeds{{"x", Tensor<float>({2}, {0, 0})}};
  const Value& y = s.run(feeds)["y"];
  CHECK(y.view<float>()[1] == 1);
  static_assert(std::is_same_v<decltype(std::declval<Outputs>()[0]), Value>);
  static_assert(std::is_same_v<decltype(std::declval<const Outputs&>()[0]), const Value&>);

  Outputs out = s.run(feeds);
  const void* const data = out["y"].tensor().data();
  CHECK(std::move(out)["y"].as<float>().data() == data);
  CHECK_THROWS_AS((void)s.run(feeds)["z"], Error);
}

TEST_CASE("a Binding reads what its caller writes between the runs") {
  const Session s(all_of_one());
  Tensor<float> mine({2}, {0, 0});
  Value shared = Tensor<float>({2}, {0, 0});
  Binding of_tensor = s.bind({{"x", mine}}), of_value = s.bind({{"x", shared}}),
          of_const = s.bind({{"x", std::as_const(mine)}});
  for (int round = 0; round < 3; ++round) {
    const float number = round;
    mine[1] = number;
    shared.tensor().out().as<float>()[1] = number;
    for (Binding* b : {&of_tensor, &of_value, &of_const}) {
      b->run();
      CHECK(b->outputs()["y"].view<float>()[1] == doctest::Approx(std::exp(number)));
      CHECK(b->outputs()["same"].view<float>()[1] == number);
    }
  }
  CHECK(of_const.outputs()["x"].tensor().data() == mine.data());
}

TEST_CASE("constants of a session are not written through its results") {
  const Tensor<float> one({1}, {1});
  for (const bool fold : {false, true}) {
    CAPTURE(fold);
    Graph g;
    const ValueId c = g.add_constant({}, one);
    CHECK(g.entry(c).content.tensor().data() == one.data());
    g.add_output("one", c);
    g.add_output("same", node(g, op::Identity{}, {c}));
    g.add_output("list", node(g, op::SequenceConstruct{}, {c}));
    g.add_output("pair", g.add_constant({}, Map{Tensor<int64_t>({1}, {3}), Tensor<float>({1}, {1})}));
    const Session s(std::move(g), {.fold_constants = fold});
    for (int round = 0; round < 2; ++round) {
      Outputs out = s.run({});
      for (const char* name : {"one", "same"}) {
        CHECK(out[name].view<float>()[0] == 1);
        auto own = std::move(out[name]).as<float>();
        own[0] = 9;
      }
      CHECK(item(out["list"]).view().as<float>()[0] == 1);
      CHECK(item(out["list"]).writable() == !fold);
      CHECK_FALSE(out["pair"].map().values.writable());
    }
  }
  CHECK(one[0] == 1);
}

TEST_CASE("an operator is not run on results that may only be read") {
  const Tensor<float> x({2}, {1, 2}), constant({2}, {3, 4});
  Tensor<float> mine({2}, {3, 4});
  const Value in = x;
  const Value* const ins[] = {&in};
  op::Context context;
  Value refused = constant, taken = mine;
  Value *const to_constant[] = {&refused}, *const to_mine[] = {&taken};
  const char* const text = "Neg: the memory of result 0 may only be read";
  CHECK_THROWS_WITH_AS(op::run(op::Neg{}, context, ins, to_constant), text, Error);
  CHECK_THROWS_WITH_AS(AnyOperator::make(op::Neg{}).run(context, ins, to_constant), text, Error);
  CHECK(constant[0] == 3);
  op::run(op::Neg{}, context, ins, to_mine);
  CHECK(mine[0] == -1);
  // What returns its result replaces the old one.
  op::run(op::Identity{}, context, ins, to_constant);
  CHECK(refused.tensor().data() == x.data());
  CHECK_FALSE(op::Identity{}(x).tensor().writable());
}

}  // namespace tenon

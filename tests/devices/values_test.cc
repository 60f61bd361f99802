// Values of all types on several ranks: narrow floats, 4-bit integers, strings, sequences, and tensors of
// unknown rank. What cannot pass from one rank to another does not have to.
#include "tenon/devices/sharded_session.hpp"
#include "tenon/op/math/gemm.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/sequence/concat_from_sequence.hpp"
#include "tenon/op/sequence/split_to_sequence.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/identity.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/where.hpp"
#include "tests/devices/sharded.hpp"

namespace tenon::devices {
namespace {

int64_t number_of(DType type) { return static_cast<int64_t>(type); }

ValueId add(Graph& g, const auto& op, std::vector<ValueId> inputs, const std::string& name) {
  return g.add_node(name, AnyOperator::make(op), std::move(inputs), std::vector{name})[0];
}

// What the ranks of a session give rank 0, or the error.
std::string check_session(const Graph& g, const Placement& placement, const Feeds& feeds,
                          const PartitionOptions& options, const std::function<void(const Outputs&)>& check) {
  try {
    on_ranks(thread_transports(placement.devices), [&](const std::shared_ptr<Transport>& t) {
      ShardedSession s(g, placement, t, {}, options);
      const Outputs out = s.run(t->rank() == 0 ? feeds : Feeds{});
      if (t->rank() == 0) check(out);
    });
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("Values of every type of number pass from rank to rank") {
  for (const DType type : {DType::bfloat16, DType::float16, DType::float64, DType::int8, DType::uint64,
                           DType::float8e4m3fn, DType::float8e5m2, DType::bool_, DType::int4, DType::uint4}) {
    CAPTURE(name_of(type));
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, Dims{4, 6});
    const ValueId a = add(g, op::Cast{.to = number_of(type)}, {x}, "a");
    const ValueId b = add(g, op::Identity{}, {a}, "b");
    g.add_output("y", add(g, op::Cast{.to = number_of(DType::float32)}, {b}, "y"));
    const Tensor<float> input = numbers({4, 6}, 5);
    const Value whole = run_whole(g, {{"x", input}})[0];
    Placement stages{.devices = 2};
    stages.nodes["a"].stage = 0, stages.nodes["b"].stage = 1;
    CHECK(difference(run_sharded(g, stages, {{"x", input}}, thread_transports(2))[0], whole) == 0);
    Placement rows{.devices = 2};
    rows.nodes["b"].tensors["a"] = cut(0, {0, 1});
    for (const bool gather : {false, true}) try {
        const auto y = run_sharded(g, rows, {{"x", input}}, thread_transports(2), {.gather = gather});
        CHECK(difference(y[0], whole) == 0);
      } catch (const Error& e) {
        CHECK(!gather);
        CHECK(bits_of(type) <= 8);
        CHECK(std::string(e.what()).ends_with(str_cat("cuts a value of type tensor(", name_of(type), ")")));
      }
  }
}

TEST_CASE("Sums of 16-bit floats over ranks are rounded once") {
  // With the bias, the first part is no half (65528), and no bfloat16 (515).
  for (const DType type : {DType::float16, DType::bfloat16}) {
    CAPTURE(name_of(type));
    Graph g;
    const auto narrow = [&](ValueId of, const std::string& name) {
      return add(g, op::Cast{.to = number_of(type)}, {of}, name);
    };
    const ValueId x = narrow(g.add_input("x", DType::float32, Dims{2, 4}), "a");
    const ValueId w = narrow(
        g.add_constant("numbers", Tensor<float>(Extents{4, 2}, {128, 1, 256, 2, -128, -2, -256, 1})), "w");
    const ValueId c = narrow(g.add_constant("addends", Tensor<float>(Extents{2}, {-8, 3})), "c");
    g.add_output("y", add(g, op::Gemm{.alpha = 0.5f}, {x, w, c}, "y"));
    const Feeds feeds{{"x", Tensor<float>(Extents{2, 4}, {512, 256, 512, 256, 1, 257, 1, 257})}};
    const Value whole = run_whole(g, feeds)[0];
    Placement placement{.devices = 2};
    auto& tensors = placement.nodes["y"].tensors;
    tensors["w"] = cut(0, {0, 1});
    CHECK(difference(run_sharded(g, placement, feeds, thread_transports(2))[0], whole) == 0);
    tensors["y"] = cut(0, {0, 1});
    CHECK(difference(run_sharded(g, placement, feeds, thread_transports(2))[0], whole) == 0);
  }
}

TEST_CASE("Tensors of unknown rank pass from rank to rank") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims{4, 6});
  const ValueId shape = g.add_input("shape", DType::int64, Dims{Dim()});
  const ValueId r = add(g, op::Reshape{}, {add(g, op::Relu{}, {x}, "a"), shape}, "r");
  g.add_output("y", add(g, op::Relu{}, {r}, "y"));
  Placement placement{.devices = 2};
  placement.nodes["r"].stage = 0, placement.nodes["y"].stage = 1;
  for (const Extents& extents : {Extents{24}, Extents{2, 3, 4}}) {
    Tensor<int64_t> to(Extents{extents.size()});
    std::copy(extents.begin(), extents.end(), to.data());
    const Feeds feeds{{"x", numbers({4, 6}, 5)}, {"shape", to}};
    CHECK(difference(run_sharded(g, placement, feeds, thread_transports(2))[0], run_whole(g, feeds)[0]) == 0);
  }
}

// parts: a sequence of x's rows. y: the rows joined.
Graph sequences() {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims{4, 6});
  const ValueId parts = add(g, op::SplitToSequence{}, {add(g, op::Relu{}, {x}, "a")}, "parts");
  g.add_output("same", add(g, op::Identity{}, {parts}, "same"));
  g.add_output("y", add(g, op::ConcatFromSequence{.axis = 0}, {parts}, "y"));
  return g;
}

TEST_CASE("Sequences stay on their ranks, and a graph's outputs are made on rank 0") {
  const Graph g = sequences();
  const Tensor<float> x = numbers({4, 6}, 5);
  const Value whole = run_whole(g, {{"x", x}})[1];
  const auto check = [&](const Outputs& out) {
    CHECK(out.names() == std::vector<std::string>{"same", "y"});
    CHECK(out["same"].sequence().items.size() == 4);
    CHECK(difference(out["y"], whole) == 0);
  };
  Placement placement{.devices = 2};
  placement.nodes["a"].tensors["a"] = {.holders = {{1}}};
  CHECK(check_session(g, placement, {{"x", x}}, {}, check) == "");
  placement.nodes["a"].tensors["a"] = cut(0, {0, 1});
  CHECK(check_session(g, placement, {{"x", x}}, {}, check) == "");
  placement.nodes["y"].tensors["y"] = cut(0, {1, 0});
  placement.nodes["y"].stage = 1;
  CHECK(check_session(g, placement, {{"x", x}}, {.gather = true}, check) == "");
  placement.nodes["parts"].stage = 0, placement.nodes["same"].stage = 1;
  placement.nodes["parts"].tensors["parts"] = {.holders = {{1}}};
  CHECK(check_session(g, placement, {{"x", x}}, {.gather = true}, check) == "");
  placement = {.devices = 2};
  placement.nodes["a"].stage = 0, placement.nodes["parts"].stage = 1;
  CHECK(check_session(g, placement, {{"x", x}}, {}, check).find("cannot pass from one device to another") !=
        std::string::npos);
  CHECK(check_session(g, placement, {{"x", x}}, {.gather = true}, check) == "");

  Graph only;
  const ValueId input = only.add_input("x", DType::float32, Dims{4, 6});
  only.add_output("parts", add(only, op::SplitToSequence{}, {add(only, op::Relu{}, {input}, "a")}, "parts"));
  placement = {.devices = 2};
  placement.nodes["a"].tensors["a"] = {.holders = {{1}}};
  CHECK(check_session(only, placement, {{"x", x}}, {}, [](const Outputs& out) {
          CHECK(out.names() == std::vector<std::string>{"parts"});
        }) == "");
}

TEST_CASE("Strings that are given stay on rank 0, and so does what reads them") {
  Graph g;
  const ValueId words = g.add_input("words", DType::string, Dims{4});
  const ValueId x = add(g, op::Cast{.to = number_of(DType::float32)}, {words}, "x");
  g.add_output("y", add(g, op::Relu{}, {x}, "y"));
  g.add_output("words", words);
  const Feeds feeds{{"words", Tensor<std::string>(Extents{4}, {"1", "-2", "0.5", "3"})}};
  const Value whole = run_whole(g, feeds)[0];
  const auto check = [&](const Outputs& out) {
    CHECK(out.size() == 2);
    CHECK(difference(out["y"], whole) == 0);
  };
  Placement placement{.devices = 3};
  placement.nodes["y"].tensors["x"] = cut(0, {2, 1});
  CHECK(check_session(g, placement, feeds, {}, check) == "");
  placement.nodes["x"].tensors["x"] = {.holders = {{1}}};
  CHECK(check_session(g, placement, feeds, {.gather = true}, check) == "");
  CHECK(check_session(g, placement, feeds, {}, check)
            .find("value 'words', of type tensor(string), cannot pass") != std::string::npos);
}

TEST_CASE("What cannot be cut is whole, or its annotation is refused") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims{4});
  const ValueId taken = add(g, op::Cast{.to = number_of(DType::bool_)}, {x}, "taken");
  Tensor<std::string> words(Extents{4}), others(Extents{4});
  for (int64_t k = 0; k < 4; ++k) words[k] = std::string(static_cast<std::size_t>(k), 'w');
  const ValueId chosen = add(
      g, op::Where{}, {taken, g.add_constant("words", words), g.add_constant("others", others)}, "chosen");
  g.add_output("y", chosen);
  const Feeds feeds{{"x", Tensor<float>(Extents{4}, {0, 1, 0, 1})}};
  const auto check = [](const Outputs& out) {
    const auto y = out["y"].view<std::string>();
    CHECK(std::vector<std::string>(y.begin(), y.end()) == std::vector<std::string>{"", "w", "", "www"});
  };
  Placement placement{.devices = 2};
  placement.nodes["taken"].tensors["x"] = cut(0, {1, 0});
  CHECK(check_session(g, placement, feeds, {}, check) == "");
  for (const char* tensor : {"taken", "words", "chosen"}) {
    CAPTURE(tensor);
    placement = {.devices = 2};
    placement.nodes["chosen"].tensors[tensor] = cut(0, {1, 0});
    CHECK(check_session(g, placement, feeds, {.gather = true}, check) == "");
    const std::string refused = check_session(g, placement, feeds, {}, check);
    CHECK(refused.find(tensor == std::string("taken")
                           ? "'taken' cuts axis 0, and Where cannot work on such pieces"
                           : "cuts a value of type tensor(string)") != std::string::npos);
  }
}

}  // namespace
}  // namespace tenon::devices

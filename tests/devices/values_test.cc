// Values of all types on several ranks: narrow floats, 4-bit integers, strings, sequences, and tensors of
// unknown rank. What cannot pass from one rank to another does not have to.
#include "tenon/devices/sharded_session.hpp"
#include "tenon/op/math/mat_mul.hpp"
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
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims{2, 4}), w = g.add_constant("w", numbers({4, 6}, 1));
  const ValueId narrow = add(g, op::Cast{.to = number_of(DType::bfloat16)}, {x}, "narrow");
  const ValueId weights = add(g, op::Cast{.to = number_of(DType::bfloat16)}, {w}, "weights");
  g.add_output("y", add(g, op::MatMul{}, {narrow, weights}, "y"));
  Placement sum{.devices = 2};
  sum.nodes["y"].tensors["weights"] = cut(0, {0, 1});
  const auto y = run_sharded(g, sum, {{"x", numbers({2, 4}, 2)}}, thread_transports(2));
  CHECK(y[0].tensor().dtype() == DType::bfloat16);
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

}  // namespace
}  // namespace tenon::devices

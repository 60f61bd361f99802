// Sharded sessions: inputs of rank 0, results on rank 0, errors on all ranks.
#include "tenon/devices/sharded_session.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tests/devices/sharded.hpp"

namespace tenon::devices {
namespace {

ValueId add(Graph& g, const auto& op, std::vector<ValueId> inputs, const std::string& name) {
  return g.add_node(name, AnyOperator::make(op), std::move(inputs), std::vector{name})[0];
}

// y = Relu(x w) + late, z = x w, with x (batch, 6); late is 1 by default.
Graph model() {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims{g.symbol("batch"), 6});
  Tensor<float> one(Extents{1});
  one[0] = 1;
  const ValueId late = g.add_input("late", DType::float32, Dims{1}, one);
  const ValueId z = add(g, op::MatMul{}, {x, g.add_constant("w", numbers({6, 4}, 1))}, "z");
  g.add_output("y", add(g, op::Add{}, {add(g, op::Relu{}, {z}, "a"), late}, "y"));
  g.add_output("z", z);
  return g;
}

Placement pipeline() {
  Placement placement{.devices = 3};
  placement.nodes["z"].stage = 0, placement.nodes["a"].stage = 1, placement.nodes["y"].stage = 2;
  return placement;
}

TEST_CASE("Rank 0 gives the inputs, of any batch, and gets the outputs") {
  const Graph g = model();
  Placement columns{.devices = 3};
  columns.nodes["z"].tensors["w"] = {.cuts = {{1, 2}}, .holders = {{0, 2}, {1}}};
  for (const Placement& placement : {pipeline(), columns}) {
    on_ranks(3, [&](const std::shared_ptr<Transport>& t) {
      ShardedSession s(g, placement, t);
      for (const int64_t batch : {3, 1, 3}) {
        const Tensor<float> x = numbers({batch, 6}, static_cast<uint32_t>(batch)), late = numbers({1}, 7);
        Feeds feeds{{"x", x}};
        if (batch == 1) feeds.emplace_back("late", late);
        const Outputs out = s.run(t->rank() == 0 ? feeds : Feeds{});
        if (t->rank() != 0) {
          CHECK(out.size() == 0);
          continue;
        }
        if (batch != 1) feeds.emplace_back("late", g.entry(g.find("late")).content);
        const std::vector<Value> whole = run_whole(g, feeds);
        CHECK(out.size() == 2);
        CHECK(difference(out["y"], whole[0]) == 0);
        CHECK(difference(out["z"], whole[1]) == 0);
      }
    });
  }
}

// Checks what each rank's calls end in: check(rank, error), with "" for those that succeed.
void check_errors(const Graph& g, const Placement& placement, const Feeds& feeds,
                  const std::function<void(int, const std::string&)>& check) {
  on_ranks(placement.devices, [&](const std::shared_ptr<Transport>& t) {
    std::string says;
    try {
      ShardedSession s(g, placement, t);
      static_cast<void>(s.run(t->rank() == 0 ? feeds : Feeds{}));
    } catch (const Error& e) {
      says = e.what();
    }
    check(t->rank(), says);
  });
}

TEST_CASE("An error of one rank ends the run on all") {
  const Tensor<float> x = numbers({3, 6}, 1), narrow = numbers({3, 5}, 1);
  check_errors(model(), pipeline(), {{"x", x}, {"what", x}},
               [](int, const std::string& e) { CHECK(e.ends_with("there is no input 'what'")); });
  for (const Feeds& feeds : {Feeds{{"x", narrow}}, Feeds{}})
    check_errors(model(), pipeline(), feeds,
                 [](int, const std::string& e) { CHECK(e.find("'x'") != e.npos); });

  Graph g;
  const ValueId data = g.add_input("data", DType::float32, Dims{3, 6});
  const ValueId indices = g.add_input("indices", DType::int64, Dims{1});
  g.add_output("y", add(g, op::Gather{}, {add(g, op::Relu{}, {data}, "a"), indices}, "y"));
  Placement late{.devices = 3};
  late.nodes["a"].stage = 0, late.nodes["y"].tensors["y"] = {.holders = {{2}}};
  Tensor<int64_t> index(Extents{1});
  index[0] = 3;
  check_errors(g, late, {{"data", x}, {"indices", index}}, [](int rank, const std::string& e) {
    if (rank == 1) return;  // has nothing to do
    CHECK(e.find("node 'y' (Gather-13)") != e.npos);
    CHECK((e.find("devices: rank 2: node 'y'") != e.npos) == (rank != 2));
  });
  index[0] = 2;
  check_errors(g, late, {{"data", x}, {"indices", index}}, [](int, const std::string& e) { CHECK(e == ""); });

  Placement too_many = pipeline();
  too_many.devices = 2;
  check_errors(model(), too_many, {{"x", x}},
               [](int, const std::string& e) { CHECK(e.ends_with("3 pipeline stages on 2 devices")); });
}

// A transport of which a call fails after some others, in one of three ways.
class Failing final : public Transport {
 public:
  Failing(std::shared_ptr<Transport> to, int calls) : to_(std::move(to)), left_(calls), way_(calls % 3) {}
  int rank() const override { return to_->rank(); }
  int size() const override { return to_->size(); }
  void send(int to, std::span<const std::byte> bytes) override {
    count();
    to_->send(to, bytes);
  }
  void receive(int from, std::span<std::byte> bytes) override {
    count();
    to_->receive(from, bytes);
  }
  void abort(std::string_view reason) override { to_->abort(reason); }

 private:
  void count() {
    if (left_-- > 0) return;
    if (way_ == 0) throw std::bad_alloc();
    if (way_ == 1) throw Error(ErrorCode::io, "wire", "is cut");
    throw 7;
  }

  std::shared_ptr<Transport> to_;
  int left_, way_;
};

TEST_CASE("Whichever message of a rank fails, no other rank waits for it") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, Dims{5, 6}), w = g.add_constant("w", numbers({6, 4}, 1));
  const ValueId z = add(g, op::MatMul{}, {x, w}, "z"), s = add(g, op::Softmax{}, {z}, "s");
  g.add_output("y", add(g, op::Relu{}, {s}, "y"));
  Placement placement{.devices = 3};
  placement.nodes["z"].tensors["w"] = cut(0, {0, 1, 2});  // a sum, of which each rank gets a piece
  placement.nodes["z"].tensors["z"] = cut(1, {0, 1, 2});
  placement.nodes["y"].tensors["y"] = {.holders = {{2}}};
  const Tensor<float> given = numbers({5, 6}, 2);
  for (int failing = 0; failing < 3; ++failing)
    for (int calls = 0;; ++calls) {
      CAPTURE(failing);
      CAPTURE(calls);
      REQUIRE(calls < 100);
      Transports ranks = thread_transports(3);
      auto& one = ranks[static_cast<std::size_t>(failing)];
      one = std::make_shared<Failing>(one, calls);
      std::string says[3];
      on_ranks(ranks, [&](const std::shared_ptr<Transport>& t) {
        std::string& error = says[t->rank()];
        try {
          ShardedSession session(g, placement, t);
          static_cast<void>(session.run(t->rank() == 0 ? Feeds{{"x", given}} : Feeds{}));
        } catch (const std::exception& e) {
          error = e.what();
        } catch (int) {
          error = "a number";
        }
      });
      if (says[failing].empty()) {
        CHECK(calls > 8);
        break;
      }
      // Those that have all of its messages may have come to their end.
      for (int r = 0; r < 3; ++r)
        if (r != failing && !says[r].empty())
          CHECK(says[r].find(str_cat("devices: rank ", failing, ": ")) != std::string::npos);
    }
}

}  // namespace
}  // namespace tenon::devices

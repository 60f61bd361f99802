// A second run takes nothing from the heap: every operator new of this program is counted.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tenon/graph/passes.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/gemm.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/nn/conv.hpp"
#include "tenon/op/nn/max_pool.hpp"
#include "tenon/op/reduction/reduce_mean.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/identity.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/shape.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tests/graph/decoder.hpp"
#include "tests/heap.hpp"

namespace {

std::atomic<int64_t> allocations{0};

}  // namespace

void* tenon::heap::take(std::size_t bytes, std::size_t alignment) noexcept {
  ++allocations;
  return allocate(bytes, alignment);
}
void tenon::heap::give(void* p) noexcept { std::free(p); }

namespace tenon {
using test::node;

namespace {

Tensor<float> numbers(const Extents& extents) {
  Tensor<float> t{extents};
  for (int64_t k = 0; k < t.size(); ++k) t[k] = 0.01f * static_cast<float>(k % 97) - 0.3f;
  return t;
}

/// Cuts work as a pool of two threads does, on one: which thread of a real one comes first to scratch memory
/// of its own is chance.
struct OneThread final : Executor {
  void run(int64_t tasks, void (*task)(void*, int64_t), void* data) override {
    for (int64_t k = 0; k < tasks; ++k) task(data, k);
  }
  int threads() const override { return 2; }
};

/// What runs take from the heap once they have been run with each of these feeds twice.
int64_t allocations_of(const Session& s, const std::vector<Feeds>& feeds) {
  std::vector<Outputs> outputs(feeds.size());
  for (int round = 0; round < 2; ++round)
    for (std::size_t k = 0; k < feeds.size(); ++k) s.run(feeds[k], outputs[k]);
  const int64_t before = allocations;
  for (int round = 0; round < 3; ++round)
    for (std::size_t k = 0; k < feeds.size(); ++k) s.run(feeds[k], outputs[k]);
  const int64_t taken = allocations - before;
  for (std::size_t k = 0; k < feeds.size(); ++k) {
    Binding b = s.bind(feeds[k]);
    b.run();
    const int64_t bound = allocations;
    b.run();
    CHECK(allocations == bound);
  }
  return taken;
}

Graph network() {
  Graph g;
  const auto x = g.input<float, Shape<dyn, 3, 16, 16>>("x");
  const auto c = g.add<op::Conv{.pads = {1, 1, 1, 1}}>(x, numbers({8, 3, 3, 3}), numbers({8}));
  const auto p = g.add<op::MaxPool{.kernel_shape = {2, 2}, .strides = {2, 2}}>(g.add(op::Relu{}, c));
  const auto m = g.add<op::ReduceMean{.keepdims = 0}>(p, constant<int64_t, 2, 3>);
  const auto f = g.add<op::Gemm{}>(m, numbers({8, 10}), numbers({10}));
  g.output("y", g.add<op::Softmax{}>(f));
  return g;
}

}  // namespace

TEST_CASE("Allocations: the counter counts") {
  const int64_t before = allocations;
  const Tensor<float> t(Extents{100});
  std::vector<int> v(100);
  CHECK(allocations - before == 2);
}

TEST_CASE("Allocations: extents that are known before the run") {
  CHECK(allocations_of(Session(network()), {{{"x", numbers({1, 3, 16, 16})}}}) == 0);
  CHECK(allocations_of(Session(network(), {.passes = standard_passes()}),
                       {{{"x", numbers({4, 3, 16, 16})}}}) == 0);
  // Two batch sizes in turn.
  CHECK(allocations_of(Session(network()),
                       {{{"x", numbers({2, 3, 16, 16})}}, {{"x", numbers({5, 3, 16, 16})}}}) == 0);
  OneThread pool;
  CHECK(allocations_of(Session(network(), {.executor = &pool}), {{{"x", numbers({4, 3, 16, 16})}}}) == 0);
}

TEST_CASE("Allocations: extents that depend on data") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {g.symbol("n"), 6});
  const ValueId shape = g.add_input("shape", DType::int64, {2});
  const ValueId a = node(g, op::Add{}, {x, x});
  const ValueId b = node(g, op::Reshape{}, {a, shape});
  const ValueId c = node(g, op::Relu{}, {b});
  const ValueId d = node(g, op::Transpose{}, {c});
  const ValueId e = node(g, op::MatMul{}, {c, d});
  const ValueId f = node(g, op::Identity{}, {e});
  g.add_output("y", f);
  g.add_output("t", node(g, op::Transpose{}, {f}));
  const Session s(std::move(g));
  const Value tall = Tensor<int64_t>({2}, {6, 4}), wide = Tensor<int64_t>({2}, {3, 8});
  Outputs out = s.run({{"x", numbers({4, 6})}, {"shape", tall}});
  CHECK(out["y"].tensor().extents() == Extents{6, 6});
  CHECK(allocations_of(s, {{{"x", numbers({4, 6})}, {"shape", tall}}}) == 0);
  CHECK(allocations_of(s, {{{"x", numbers({4, 6})}, {"shape", wide}}}) == 0);
}

TEST_CASE("Allocations: shape arithmetic") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {});
  const ValueId axis = g.add_constant({}, Tensor<int64_t>({1}, {0}));
  const ValueId rest = g.add_constant({}, Tensor<int64_t>({1}, {-1}));
  const ValueId first = node(g, op::Gather{}, {node(g, op::Shape{}, {x}), axis});
  const ValueId y = node(g, op::Reshape{}, {x, node(g, op::Concat{.axis = 0}, {first, rest})});
  g.add_output("y", node(g, op::Softmax{}, {y}));
  const Session s(std::move(g));
  CHECK(allocations_of(s, {{{"x", numbers({2, 3, 4})}}, {{"x", numbers({7, 2})}}}) == 0);
}

TEST_CASE("Allocations: many inputs") {
  Graph g;
  std::vector<std::string> names;
  for (int k = 0; k < 200; ++k) names.push_back(str_cat("x", k));
  ValueId sum = g.add_input(names[0], DType::float32, {3});
  for (int k = 1; k < 200; ++k)
    sum = node(g, op::Add{}, {sum, g.add_input(names[k], DType::float32, {3}, numbers({3}))});
  g.add_output("y", sum);
  const Session s(std::move(g));
  Feeds feeds;
  for (int k = 0; k < 150; ++k) feeds.emplace_back(names[k], numbers({3}));
  CHECK(allocations_of(s, {feeds}) == 0);
}

TEST_CASE("steps with a state take nothing from the heap while they fit into pages") {
  for (const test::Form form : {test::Form::attention, test::Form::packed_attention, test::Form::concat}) {
    CAPTURE(static_cast<int>(form));
    const Session s(test::decoder(form), {.passes = standard_passes()});
    const Tensor<float> x = test::numbers({1, 40, test::width});
    std::vector<Feeds> feeds{test::feeds_of(form, x, 0, 8)};
    for (int64_t at = 8; at < 40; ++at) feeds.push_back(test::feeds_of(form, x, at, at + 1));
    State state({.pairs = test::pairs});
    Outputs out;
    int64_t before = 0;
    for (std::size_t k = 0; k < feeds.size(); ++k) {
      if (k == 4) before = allocations;
      s.run(feeds[k], out, {.state = &state});
    }
    CHECK(allocations == before);
    CHECK(state.length() == 40);
  }
}

}  // namespace tenon

#include "tenon/graph/plan.hpp"

#include <doctest/doctest.h>

#include "tenon/graph/session.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/exp.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/sum.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/identity.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/split.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tests/graph/build.hpp"

namespace tenon {
using test::node, test::same;

namespace {

using detail::Place;

Value numbers(const Extents& extents, float first = -3) {
  Tensor<float> t{extents};
  for (int64_t k = 0; k < t.size(); ++k) t[k] = first + 0.25f * static_cast<float>(k);
  return t;
}

/// Every value that a node makes, as outputs of one run: nothing can share memory then.
std::vector<std::string> all_values(const Graph& g) {
  std::vector<std::string> names;
  for (const Graph::ValueEntry& v : g.values())
    if (v.source == Graph::Source::node && !v.name.empty()) names.push_back(v.name);
  return names;
}

/// Runs with sharing, twice, and without, and compares.
void check_sharing(const Session& s, const Feeds& feeds) {
  const std::vector<std::string> all = all_values(s.graph());
  Outputs apart = s.run(feeds, {.outputs = all});
  Outputs shared = s.run(feeds);
  for (int round = 0; round < 2; ++round) {
    for (const auto& [name, id] : s.graph().outputs()) {
      const std::string& inner = s.graph().entry(id).name;
      if (s.graph().entry(id).source == Graph::Source::node)
        CHECK_MESSAGE(same(shared[name], apart[inner]), name);
    }
    s.run(feeds, shared);
  }
  // One value at a time: all others share what they can.
  for (const std::string& name : all) {
    Outputs one = s.run(feeds, {.outputs = {name}});
    CHECK_MESSAGE(same(one[name], apart[name]), name);
  }
}

const detail::Plan::Entry& entry(const detail::Plan& p, ValueId v) {
  return p.values[static_cast<std::size_t>(v)];
}

}  // namespace

TEST_CASE("Plan: results overwrite operands that die") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {64});
  const ValueId a = node(g, op::Neg{}, {x}, "a");
  const ValueId b = node(g, op::Exp{}, {a}, "b");
  const ValueId c = node(g, op::Add{}, {b, x}, "c");
  const ValueId d = node(g, op::Mul{}, {c, b}, "d");
  const ValueId e = node(g, op::Relu{}, {d}, "e");
  g.add_output("y", node(g, op::Add{}, {e, x}, "f"));
  const Session s(std::move(g));
  const detail::Plan p = detail::plan_of(s.program(), {});
  CHECK(entry(p, x).place == Place::given);
  CHECK(entry(p, b).root == a);  // in place
  CHECK(entry(p, c).root == c);  // b is read again
  CHECK(entry(p, d).root == c);
  CHECK(entry(p, e).root == c);
  CHECK(entry(p, c).place == Place::output);  // y's memory from the start
  CHECK(p.arena_bytes == 256);
  check_sharing(s, {{"x", numbers({64})}});
}

TEST_CASE("Plan: other extents of one memory") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {2, 8});
  const ValueId shape = g.add_constant("shape", Tensor<int64_t>({1}, {16}));
  const ValueId square = g.add_constant("square", Tensor<int64_t>({2}, {4, 4}));
  const ValueId a = node(g, op::Neg{}, {x}, "a");
  const ValueId b = node(g, op::Reshape{}, {a, shape}, "b");
  const ValueId c = node(g, op::Relu{}, {b}, "c");  // may not overwrite a, which d reads
  const ValueId d = node(g, op::Exp{}, {a}, "d");
  const ValueId e = node(g, op::Reshape{}, {d, square}, "e");
  const ValueId f = node(g, op::Reshape{}, {x, square}, "f");  // the caller's memory, seen otherwise
  const ValueId h = node(g, op::Add{}, {e, f}, "h");
  g.add_output("y", h);
  g.add_output("c", c);
  const Session s(std::move(g));
  const detail::Plan p = detail::plan_of(s.program(), {});
  CHECK(entry(p, b).root == a);
  CHECK(entry(p, c).root == c);
  CHECK(entry(p, e).root == entry(p, d).root);
  CHECK(entry(p, h).root == entry(p, d).root);
  CHECK(entry(p, f).root == x);
  check_sharing(s, {{"x", numbers({2, 8})}});
}

TEST_CASE("Plan: a result that is an output takes its operands' memory with it") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {4, 4});
  const ValueId flat = g.add_constant("flat", Tensor<int64_t>({1}, {16}));
  const ValueId a = node(g, op::Neg{}, {x}, "a");
  const ValueId b = node(g, op::Reshape{}, {a, flat}, "b");
  const ValueId c = node(g, op::Identity{}, {b}, "c");
  const ValueId d = node(g, op::Exp{}, {c}, "d");
  g.add_output("y", d);
  const Session s(std::move(g));
  const detail::Plan p = detail::plan_of(s.program(), {});
  for (ValueId v : {a, b, c, d}) {
    CHECK(entry(p, v).root == a);
    CHECK(entry(p, v).place == Place::output);
  }
  CHECK(p.arena_bytes == 0);
  check_sharing(s, {{"x", numbers({4, 4})}});
}

TEST_CASE("Plan: outputs that are inputs, constants, each other, or seen otherwise") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {4});
  const ValueId shape = g.add_constant("shape", Tensor<int64_t>({2}, {2, 2}));
  const ValueId w = g.add_constant("w", Tensor<float>({4}, {1, 2, 3, 4}));
  const ValueId a = node(g, op::Add{}, {x, w}, "a");
  const ValueId b = node(g, op::Reshape{}, {a, shape}, "b");
  const ValueId c = node(g, op::Reshape{}, {x, shape}, "c");
  g.add_output("x_again", x);
  g.add_output("w_again", w);
  g.add_output("a1", a);
  g.add_output("a2", a);
  g.add_output("b", b);
  g.add_output("c", c);
  const Session s(std::move(g));
  const Feeds feeds = {{"x", numbers({4}, 1)}};
  Outputs y = s.run(feeds);
  for (int round = 0; round < 3; ++round) {
    CHECK(same(y["x_again"], feeds[0].second));
    CHECK(y["w_again"].view<float>()(3) == 4);
    CHECK(same(y["a1"], y["a2"]));
    CHECK(y["a1"].view<float>()(1) == 3.25f);
    CHECK(y["b"].view<float>()(1, 1) == 5.75f);
    CHECK(y["c"].view<float>()(1, 1) == 1.75f);
    s.run(feeds, y);
  }
  check_sharing(s, feeds);
}

TEST_CASE("Plan: an operand that is read twice, once stretched") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {8});
  const ValueId row = g.add_constant("row", Tensor<int64_t>({2}, {1, 8}));
  const ValueId column = g.add_constant("column", Tensor<int64_t>({2}, {8, 1}));
  const ValueId a = node(g, op::Neg{}, {x}, "a");
  const ValueId b = node(g, op::Reshape{}, {a, row}, "b");
  const ValueId c = node(g, op::Reshape{}, {a, column}, "c");
  const ValueId d = node(g, op::Add{}, {b, c}, "d");  // larger than both
  const ValueId e = node(g, op::Add{}, {c, c}, "e");  // twice the same: in place
  g.add_output("d", d);
  g.add_output("e", node(g, op::Mul{}, {e, e}, "f"));
  const Session s(std::move(g));
  check_sharing(s, {{"x", numbers({8})}});
}

TEST_CASE("Plan: the arena is smaller than its values together") {
  // A chain of products: only two of the intermediate values live at a time.
  Graph g;
  ValueId v = g.add_input("x", DType::float32, {32, 32});
  const ValueId w = g.add_constant("w", Value(numbers({32, 32}, -0.1f)));
  for (int k = 0; k < 10; ++k) v = node(g, op::MatMul{}, {v, w}, str_cat("v", k));
  g.add_output("y", v);
  const Session s(std::move(g));
  const detail::Plan p = detail::plan_of(s.program(), {});
  CHECK(p.naive_bytes == 9 * 4096);
  CHECK(p.arena_bytes == 2 * 4096);
  for (const auto& e : p.values)
    if (e.place == Place::arena) CHECK(e.offset % 64 == 0);
}

TEST_CASE("Plan: values that live at the same time do not overlap") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {3, 8});
  std::vector<ValueId> parts;
  const std::string names[] = {"p0", "p1", "p2", "p3"};
  const auto split = g.add_node({}, AnyOperator::make(op::Split{.axis = 1, .num_outputs = 4}), {x}, names);
  for (std::size_t k = 0; k < 4; ++k) parts.push_back(node(g, op::Neg{}, {split[k]}, str_cat("n", k)));
  const ValueId joined = node(g, op::Concat{.axis = 1}, {parts[3], parts[1], parts[0], parts[2]}, "joined");
  const ValueId turned = node(g, op::Transpose{}, {joined}, "turned");
  g.add_output("y", node(g, op::MatMul{}, {joined, turned}, "product"));
  const Session s(std::move(g));
  const detail::Plan p = detail::plan_of(s.program(), {});
  // First and last steps of every block, checked pairwise.
  const auto& nodes = s.graph().nodes();
  struct Block {
    int first, last;
    int64_t begin, end;
  };
  std::vector<Block> blocks;
  for (std::size_t n = 0; n < nodes.size(); ++n)
    for (ValueId v : nodes[n].outputs) {
      const auto& e = entry(p, v);
      if (e.place != Place::arena || e.root != v) continue;
      blocks.push_back({static_cast<int>(n), e.last, e.offset, e.offset + e.info.dims.count().value() * 4});
      CHECK(blocks.back().end <= p.arena_bytes);
    }
  CHECK(blocks.size() >= 3);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    for (std::size_t k = i + 1; k < blocks.size(); ++k) {
      const bool together = blocks[i].first <= blocks[k].last && blocks[k].first <= blocks[i].last;
      const bool overlap = blocks[i].begin < blocks[k].end && blocks[k].begin < blocks[i].end;
      CHECK_FALSE((together && overlap));
    }
  check_sharing(s, {{"x", numbers({3, 8})}});
}

TEST_CASE("Plan: more values at a time than gaps are looked for") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {8});
  std::vector<ValueId> branches;
  for (int k = 0; k < 600; ++k) {
    const ValueId a = node(g, op::Neg{}, {x}, str_cat("a", k));
    branches.push_back(
        node(g, op::MatMul{}, {a, g.add_constant({}, Value(numbers({8, 8}, 0.01f)))}, str_cat("b", k)));
  }
  g.add_output("y", node(g, op::Concat{.axis = 0}, {node(g, op::Sum{}, branches, "sum"), x}, "joined"));
  check_sharing(Session(std::move(g)), {{"x", numbers({8})}});
}

TEST_CASE("Plan: operands of a Concat lie in its result") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {1, 8, 4});
  const ValueId a = node(g, op::Neg{}, {x}, "a"), b = node(g, op::Exp{}, {a}, "b");
  const ValueId ab = node(g, op::Concat{.axis = 1}, {a, b}, "ab");
  const ValueId c = node(g, op::Exp{}, {ab}, "c");
  const ValueId abca = node(g, op::Concat{.axis = 1}, {ab, c, a}, "abca");    // a can be in one place only
  const ValueId wide = node(g, op::Concat{.axis = 2}, {abca, abca}, "wide");  // its operands are in pieces
  g.add_output("y", node(g, op::Relu{}, {wide}, "r"));
  const Session s(std::move(g));
  const detail::Plan p = detail::plan_of(s.program(), {});
  for (ValueId v : {a, b, ab, c, abca}) CHECK(entry(p, v).root == abca);
  CHECK(entry(p, a).shift == 0);
  CHECK(entry(p, b).shift == 128);
  CHECK(entry(p, c).shift == 256);
  CHECK(p.arena_bytes == 5 * 128);
  check_sharing(s, {{"x", numbers({1, 8, 4})}});
}

TEST_CASE("Plan: graphs of many shapes give what unshared memory gives") {
  uint32_t state = 1;
  const auto next = [&](std::size_t n) {
    state = state * 1664525 + 1013904223;
    return static_cast<std::size_t>(state >> 8) % n;
  };
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    Graph g;
    const ValueId square = g.add_constant("square", Tensor<int64_t>({2}, {4, 4}));
    const ValueId flat = g.add_constant("flat", Tensor<int64_t>({1}, {16}));
    std::vector<ValueId> values = {g.add_input("x", DType::float32, {4, 4}),
                                   g.add_input("z", DType::float32, {16})};
    values.push_back(g.add_constant("w", Value(numbers({4, 4}, 0))));
    const int count = 4 + static_cast<int>(next(16));
    for (int k = 0; k < count; ++k) {
      const std::string name = str_cat("v", k);
      // Recent values more often, so that chains come about.
      const auto pick = [&] {
        return next(3) ? values[values.size() - 1 - next(2)] : values[next(values.size())];
      };
      const ValueId a = pick();
      ValueId b = pick();
      const int rank = g.entry(a).info.dims.rank();
      if (g.entry(b).info.dims.rank() != rank) b = a;
      switch (next(rank == 2 ? 8 : 7)) {
        case 0: values.push_back(node(g, op::Neg{}, {a}, name)); break;
        case 1: values.push_back(node(g, op::Relu{}, {a}, name)); break;
        case 2: values.push_back(node(g, op::Add{}, {a, b}, name)); break;
        case 3: values.push_back(node(g, op::Mul{}, {b, a}, name)); break;
        case 4: values.push_back(node(g, op::Reshape{}, {a, rank == 2 ? flat : square}, name)); break;
        case 5: values.push_back(node(g, op::Identity{}, {a}, name)); break;
        case 6: {  // joined and parted again
          const ValueId joined = node(g, op::Concat{.axis = 0}, {a, b, a}, name + "j");
          const std::string names[] = {name + "k", name, name + "m"};
          const auto parts = g.add_node({}, AnyOperator::make(op::Split{.num_outputs = 3}), {joined}, names);
          for (std::size_t part = 0; part < 3; ++part)
            if (next(2)) values.push_back(parts[part]);
          values.push_back(node(g, op::Neg{}, {joined}, name + "n"));
          values.back() = parts[next(3)];
          break;
        }
        case 7: values.push_back(node(g, op::MatMul{}, {a, b}, name)); break;
      }
    }
    g.add_output("last", values.back());
    for (std::size_t k = 0; k < next(4); ++k) g.add_output(str_cat("out", k), values[next(values.size())]);
    const Session s(std::move(g), {.fold_constants = next(2) == 0});
    check_sharing(s, {{"x", numbers({4, 4}, -1)}, {"z", numbers({16}, -2)}});
  }
}

}  // namespace tenon

// The operators that exchange values between ranks.
#include <doctest/doctest.h>

#include "tenon/devices/operators.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/op/math/add.hpp"
#include "tests/devices/ranks.hpp"

namespace tenon::devices {
namespace {

using Floats = Tensor<float>;

// The elements 1, 2, … of these extents, times a factor.
Floats counted(Extents extents, float factor = 1) {
  Floats x(extents);
  for (int64_t k = 0; k < x.size(); ++k) x[k] = factor * static_cast<float>(k + 1);
  return x;
}

// The extents and the elements, for comparison.
std::pair<std::string, std::vector<float>> content(const Value& v) {
  const auto x = v.view<float>();
  return {to_string(x.extents()), {x.begin(), x.end()}};
}

// A graph with an input x, to which build(graph, x) adds nodes and an output.
Graph graph_of(const Floats& x, const std::function<void(Graph&, ValueId)>& build) {
  Graph g;
  const ValueId id = g.add_input("x", DType::float32, Dims(x.extents()));
  build(g, id);
  return g;
}

std::vector<ValueId> add(Graph& g, const auto& op, std::vector<ValueId> inputs, int outputs) {
  return g.add_node({}, AnyOperator::make(op), std::move(inputs),
                    std::vector<std::string>(static_cast<std::size_t>(outputs)));
}

TEST_CASE("AllReduce, AllGather and ReduceScatter in graphs") {
  for (int64_t axis : {0, 1, -1}) {
    CAPTURE(axis);
    const std::vector<int64_t> pieces{2, 3};
    on_ranks(2, [&](const auto& t) {
      const bool first = t->rank() == 0;
      const Floats whole = counted(axis == 0 ? Extents{5, 4} : Extents{4, 5});
      const int along = axis == 0 ? 0 : 1;
      Floats piece(axis == 0 ? Extents{first ? 2 : 3, 4} : Extents{4, first ? 2 : 3});
      const auto at = [&](int64_t r, int64_t c) {  // of the whole, an element of the piece
        (along == 0 ? r : c) += first ? 0 : 2;
        return whole[r * whole.extent(1) + c];
      };
      for (int64_t r = 0; r < piece.extent(0); ++r)
        for (int64_t c = 0; c < piece.extent(1); ++c) piece[r * piece.extent(1) + c] = at(r, c);

      Session gather(graph_of(piece, [&](Graph& g, ValueId x) {
        g.add_output("y", add(g, AllGather{t, {0, 1}, axis, pieces}, {x}, 2)[0]);
      }));
      CHECK(content(gather.run({{"x", piece}})["y"]) == content(whole));

      Session scatter(graph_of(whole, [&](Graph& g, ValueId x) {
        g.add_output("y", add(g, ReduceScatter{t, {0, 1}, axis, pieces}, {x}, 2)[0]);
      }));
      Floats sums(Extents(piece.extents()));
      for (int64_t k = 0; k < sums.size(); ++k) sums[k] = 4 * piece[k];
      CHECK(content(scatter.run({{"x", counted(Extents(whole.extents()), first ? 1 : 3)}})["y"]) ==
            content(sums));

      Session reduce(graph_of(whole, [&](Graph& g, ValueId x) {
        const ValueId twice = add(g, op::Add{}, {x, x}, 1)[0];
        g.add_output("y", add(g, AllReduce{t, {0, 1}}, {twice}, 2)[0]);
      }));
      CHECK(content(reduce.run({{"x", whole}})["y"]) == content(counted(Extents(whole.extents()), 4)));
    });
  }
}

TEST_CASE("Send and Receive, with extents that are known and that are not") {
  for (const bool stated : {true, false}) {
    CAPTURE(stated);
    on_ranks(3, [&](const auto& t) {
      const Floats x = counted({2, 3});
      Graph g;
      if (t->rank() == 2) {
        const ValueId id = g.add_input("x", DType::float32, Dims(x.extents()));
        g.add_output("done", add(g, Send{t, {2, 0, 1}, stated}, {id}, 1)[0]);
        CHECK(Session(std::move(g)).run({{"x", x}})["done"].template view<bool>()[0]);
        CHECK(t->bytes_sent() == 2 * (24 + (stated ? 0 : 136)));
        return;
      }
      const std::vector<int64_t> extents{stated ? 2 : -1, 3};
      const ValueId y = add(g, Receive{t, {2, 0, 1}, dtype<float>, extents}, {-1}, 2)[0];
      g.add_output("y", add(g, op::Add{}, {y, y}, 1)[0]);
      CHECK(content(Session(std::move(g)).run({})["y"]) == content(counted({2, 3}, 2)));
      CHECK(t->bytes_sent() == 0);
    });
  }
}

TEST_CASE("Exchanges that cannot be") {
  const auto ranks = thread_transports(2);
  const auto refused = [&](const auto& op, std::vector<ValueId> inputs) {
    Graph g;
    g.add_input("x", DType::float32, Dims{2, 3});
    try {
      g.add_node("n", AnyOperator::make(op), std::move(inputs), {});
    } catch (const Error& e) {
      return e.message();
    }
    return std::string();
  };
  CHECK(refused(AllReduce{{}, {0, 1}}, {0}).starts_with("has no transport"));
  CHECK(refused(AllReduce{ranks[0], {0, 2}}, {0}).starts_with("has rank 2, and the transport has 2 ranks"));
  CHECK(refused(AllGather{ranks[0], {0, 1}, 2, {2, 2}}, {0}).starts_with("axis 2 outside of [-2, 1]"));
  CHECK(refused(AllGather{ranks[0], {0, 1}, 0, {2}}, {0}).starts_with("1 pieces of 2 ranks"));
  for (const int64_t stretches : {3, 0, -1})
    CHECK(
        refused(AllGather{ranks[0], {0, 1}, 0, {2, 2}, stretches}, {0}).starts_with("a piece of 2 elements"));
  CHECK(refused(TakePart{1, 0, 1, 2}, {0}).starts_with("elements 0 to 1 of 2 stretches of 3"));
  CHECK(refused(TakePart{0, 1, 2, 2}, {0}).starts_with("elements 1 to 2 of 2 stretches of 2"));
  CHECK(refused(JoinParts{1, 2}, {0, 0}).starts_with("a part of 3 in 2 stretches"));
  CHECK(refused(JoinParts{1, 0}, {0, 0}).starts_with("0 stretches"));
  CHECK(refused(ReduceScatter{ranks[0], {0, 1}, 1, {1, 1}}, {0}) != "");
  CHECK(refused(ReduceScatter{ranks[0], {1}, 1, {3}}, {0}).starts_with("1 pieces of 1 ranks"));
  CHECK(refused(Receive{ranks[0], {1, 0}, 99, {}}, {-1}).starts_with("attribute 'dtype' is 99"));
}

}  // namespace
}  // namespace tenon::devices

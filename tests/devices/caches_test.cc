// Inputs that ranks keep from run to run: a decoder's keys and values, in the pieces that the ranks' nodes
// read.
#include "tenon/devices/sharded_session.hpp"
#include "tests/devices/decoder.hpp"

namespace tenon::devices {
namespace {

struct Kept {
  std::vector<int64_t> bytes{};              // of the states
  std::vector<std::vector<int64_t>> sent{};  // by each run
};

// Compares runs on ranks with those of one session, and says what the ranks kept and sent.
Kept check_runs(const Decoder& d, const Placement& placement) {
  const Tensor<float> x = numbers({d.batch(), 12, Decoder::width}, 7);
  const Session whole(std::move(Decoder(d.form).g));
  State state({.pairs = d.pairs});
  Kept kept;
  kept.bytes.resize(static_cast<std::size_t>(placement.devices));
  kept.sent.resize(kept.bytes.size());
  std::vector<Outputs> expected;
  const std::vector<int64_t> ends{4, 5, 6, 8, 9};
  for (std::size_t k = 0; k < ends.size(); ++k)
    expected.push_back(whole.run(d.feeds(x, k == 0 ? 0 : ends[k - 1], ends[k]), {.state = &state}));
  on_ranks(thread_transports(placement.devices), [&](const std::shared_ptr<Transport>& t) {
    const auto rank = static_cast<std::size_t>(t->rank());
    ShardedSession s(d.g, placement, t, {}, {.kept = d.pairs});
    State own({.pairs = s.kept()});
    for (int time = 0; time < 2; ++time) {
      for (std::size_t k = 0; k < ends.size(); ++k) {
        const int64_t before = t->bytes_sent();
        const Feeds feeds = rank == 0 ? d.feeds(x, k == 0 ? 0 : ends[k - 1], ends[k]) : Feeds{};
        const Outputs out = s.run(feeds, {.state = &own});
        kept.sent[rank].push_back(t->bytes_sent() - before);
        if (rank != 0) continue;
        CHECK(out.names() == expected[k].names());
        CHECK(difference(expected[k]["y"], out["y"]) <= 5e-6);
        if (d.held >= 0) CHECK(difference(expected[k]["held"], out["held"]) == 0);
      }
      kept.bytes[rank] = own.bytes();
      own.clear();
    }
  });
  return kept;
}

TEST_CASE("Ranks keep the heads of keys and values that they compute") {
  for (const Form form : {Form::attention, Form::grouped, Form::concat}) {
    const Decoder d(form);
    State whole({.pairs = d.pairs});
    const Tensor<float> x = numbers({d.batch(), 12, Decoder::width}, 7);
    static_cast<void>(Session(std::move(Decoder(form).g)).run(d.feeds(x, 0, 9), {.state = &whole}));
    for (int devices = 1; devices <= 3; ++devices) {
      CAPTURE(static_cast<int>(form));
      CAPTURE(devices);
      const Kept kept = check_runs(d, d.tensors(devices));
      for (const int64_t bytes : kept.bytes) CHECK(bytes == whole.bytes() / devices);
      // Steps of one token send the same, however many there were: two sums, and the inputs from rank 0.
      for (const auto& sent : kept.sent) CHECK(sent[1] == sent[2]);
      for (std::size_t r = 1; r < kept.sent.size(); ++r) {
        const int64_t sums = Decoder::layers * 2 * (devices - 1) * d.batch() * Decoder::width * 4 / devices;
        CHECK(kept.sent[r][1] - sums < (devices == 2 ? 1 : 1000));
      }
    }
  }
}

TEST_CASE("Each stage of a pipeline keeps its layers' keys and values") {
  for (const Form form : {Form::attention, Form::grouped, Form::concat}) {
    CAPTURE(static_cast<int>(form));
    const Decoder d(form);
    Placement placement{.devices = 2};
    for (int l = 0; l < Decoder::layers; ++l)
      for (const char* what : {"q", "k", "v", "a", "o", "x", "present_key", "present_value"})
        placement.nodes[what + std::to_string(l)].stage = l;
    const Kept kept = check_runs(d, placement);
    CHECK(kept.bytes[0] == kept.bytes[1]);
    CHECK(kept.sent[0][1] == kept.sent[0][2]);
    CHECK(kept.sent[1][1] == d.batch() * Decoder::width * 4 + static_cast<int64_t>(sizeof(detail::Header)));
  }
}

TEST_CASE("Kept inputs that every rank reads whole, and those that nothing reads") {
  Graph g;
  const Dim batch = g.symbol("batch");
  const ValueId x = g.add_input("x", DType::float32, {batch, 4}),
                past = g.add_input("past", DType::float32, {batch, 4});
  g.add_input("other", DType::float32, {batch, 4});
  const ValueId sum =
      g.add_node({}, AnyOperator::make(op::Add{}), {x, past}, std::vector<std::string>{"sum"})[0];
  const ValueId w = g.add_constant("w", numbers({4, 6}, 1));
  g.add_output("y",
               g.add_node({}, AnyOperator::make(op::MatMul{}), {sum, w}, std::vector<std::string>{"y"})[0]);
  g.add_output("sum", sum);
  g.add_output("same", x);
  Placement placement{.devices = 2};
  placement.nodes["y"].tensors["w"] = cut(1, {0, 1});
  const Tensor<float> one = numbers({3, 4}, 2);
  std::vector<Value> expected;
  for (int k = 1; k <= 3; ++k) {
    Tensor<float> times(Extents{3, 4});
    for (int64_t j = 0; j < times.size(); ++j) times[j] = static_cast<float>(k) * one[j];
    expected.push_back(
        run_whole(g, {{"x", times}, {"past", Tensor<float>(Extents{3, 4})}, {"other", one}})[0]);
  }
  on_ranks(thread_transports(2), [&](const std::shared_ptr<Transport>& t) {
    ShardedSession s(g, placement, t, {}, {.kept = {{"past", "sum"}, {"other", "same"}}});
    State state({.pairs = s.kept()});
    for (const Value& y : expected) {
      const Outputs out = s.run(t->rank() == 0 ? Feeds{{"x", one}} : Feeds{}, {.state = &state});
      if (t->rank() == 0) CHECK(difference(y, out["y"]) <= 1e-6);
    }
  });
}

// What the first rank says that says anything.
std::string error_of(int ranks, const std::function<void(const std::shared_ptr<Transport>&)>& work) {
  try {
    on_ranks(thread_transports(ranks), work);
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

TEST_CASE("A rank whose outputs are all kept returns none") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {2, 4}),
                past = g.add_input("past", DType::float32, {2, 4});
  const ValueId w = g.add_constant("w", numbers({4, 4}, 1));
  const ValueId p = g.add_node({}, AnyOperator::make(op::MatMul{}), {x, w}, std::vector<std::string>{"p"})[0];
  g.add_output("sum",
               g.add_node({}, AnyOperator::make(op::Add{}), {p, past}, std::vector<std::string>{"sum"})[0]);
  Placement placement{.devices = 2};
  placement.nodes["p"].tensors["w"] = cut(0, {0, 1});
  on_ranks(thread_transports(2), [&](const std::shared_ptr<Transport>& t) {
    ShardedSession s(g, placement, t, {}, {.kept = {{"past", "sum"}}});
    State state({.pairs = s.kept()});
    for (int k = 0; k < 2; ++k)
      CHECK(s.run(t->rank() == 0 ? Feeds{{"x", numbers({2, 4}, 2)}} : Feeds{}, {.state = &state})
                .names()
                .empty());
  });
}

TEST_CASE("A past is kept in no pieces that its present does not have") {
  // The present has a row more than the past declares, which one session refuses in the second run too.
  Graph g;
  const ValueId x = g.add_input("x", DType::float32, {1, 4}),
                past = g.add_input("past", DType::float32, {2, 4});
  const auto node = [&](const auto& op, std::vector<ValueId> in, const char* name) {
    return g.add_node({}, AnyOperator::make(op), std::move(in), std::vector<std::string>{name})[0];
  };
  g.add_output("y", node(op::Add{}, {past, past}, "y"));
  g.add_output("present", node(op::Concat{.axis = 0}, {past, x}, "present"));
  Placement placement{.devices = 2};
  placement.nodes["y"].tensors["past"] = cut(0, {0, 1});
  const Tensor<float> row = numbers({1, 4}, 2);
  const std::vector<StatePair> pairs{{"past", "present"}};
  int runs = 0;
  const std::string error = error_of(2, [&](const std::shared_ptr<Transport>& t) {
    ShardedSession s(g, placement, t, {}, {.kept = pairs});
    State state({.pairs = s.kept()});
    for (int k = 0; k < 2; ++k) {
      static_cast<void>(s.run(t->rank() == 0 ? Feeds{{"x", row}} : Feeds{}, {.state = &state}));
      if (t->rank() == 0) ++runs;
    }
  });
  CHECK(runs == 1);
  CHECK(error.find("'past'") != std::string::npos);
}

TEST_CASE("Weights outside of the graph are read once where ranks keep inputs") {
  Graph g;
  const Dim batch = g.symbol("batch");
  const ValueId x = g.add_input("x", DType::float32, {batch, 4}),
                past = g.add_input("past", DType::float32, {batch, 6});
  const ValueId w = g.add_constant("w", Type(DType::float32), {4, 6});
  const ValueId p = g.add_node({}, AnyOperator::make(op::MatMul{}), {x, w}, std::vector<std::string>{"p"})[0];
  g.add_output("y",
               g.add_node({}, AnyOperator::make(op::Add{}), {p, past}, std::vector<std::string>{"y"})[0]);
  g.add_output("present", p);
  Placement placement{.devices = 2};
  placement.nodes["p"].tensors["w"] = cut(1, {0, 1});
  const Tensor<float> all = numbers({4, 6}, 1), one = numbers({3, 4}, 2);
  const Value product = op::MatMul{}(one, all);
  on_ranks(thread_transports(2), [&](const std::shared_ptr<Transport>& t) {
    int reads = 0;
    const auto read = [&](const std::string& name, const AxisPart& part) {
      CHECK(name == "w");
      ++reads;
      const PartRows rows({4, 6}, DType::float32, part);
      AnyTensor y = AnyTensor::uninitialized(DType::float32, rows.extents);
      rows.take(reinterpret_cast<const std::byte*>(all.data()) + rows.begin, rows.rows, y.out().data());
      return y;
    };
    ShardedSession s(g, placement, t, {}, {.read_constant = read, .kept = {{"past", "present"}}});
    CHECK(reads == 1);
    State state({.pairs = s.kept()});
    for (int k = 0; k < 2; ++k) {
      const Outputs out = s.run(t->rank() == 0 ? Feeds{{"x", one}} : Feeds{}, {.state = &state});
      CHECK(state.bytes() == 2 * 3 * 3 * 4);  // the past, and memory for the next one
      if (t->rank() == 0 && k == 0) CHECK(difference(product, out["y"]) <= 1e-6);
    }
  });
}

TEST_CASE("Ranks whose graphs differ in an attribute say so") {
  const auto graph = [](std::vector<int64_t> perm) {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, {4, 4}), w = g.add_constant("w", numbers({4, 4}, 1));
    const ValueId t = g.add_node({}, AnyOperator::make(op::Transpose{.perm = std::span<const int64_t>(perm)}),
                                 {x}, std::vector<std::string>{"t"})[0];
    g.add_output("y",
                 g.add_node({}, AnyOperator::make(op::MatMul{}), {t, w}, std::vector<std::string>{"y"})[0]);
    return g;
  };
  Placement placement{.devices = 2};
  placement.nodes["t"].tensors["t"] = cut(0, {0, 1});
  const Graph one = graph({0, 1}), other = graph({1, 0});
  const auto build = [&](const Graph& last) {
    return error_of(2, [&](const std::shared_ptr<Transport>& t) {
      const ShardedSession s(t->rank() == 0 ? one : last, placement, t);
    });
  };
  CHECK(build(one) == "");
  CHECK(build(other).find("rank 1 has another graph, other annotations or other options than rank 0") !=
        std::string::npos);
}

TEST_CASE("What is wrong with states of ranks is an error on all of them") {
  const Decoder d(Form::attention);
  const Tensor<float> x = numbers({2, 4, Decoder::width}, 7);
  const auto error = [&](std::vector<StatePair> pairs, bool with_state, bool past) {
    return error_of(2, [&](const std::shared_ptr<Transport>& t) {
      ShardedSession s(d.g, d.tensors(2), t, {}, {.kept = pairs});
      State state({.pairs = s.kept()});
      Feeds feeds = t->rank() == 0 ? d.feeds(x, 0, 4) : Feeds{};
      if (past && t->rank() == 0)
        feeds.emplace_back("past_key0", Tensor<float>(Extents{2, Decoder::heads, 0, Decoder::size}));
      static_cast<void>(s.run(feeds, {.state = with_state ? &state : nullptr}));
    });
  };
  CHECK(error(d.pairs, true, false) == "");
  CHECK(error(d.pairs, true, true).find("input 'past_key0' is kept by the ranks' states") !=
        std::string::npos);
  CHECK(error(d.pairs, false, false).find("a run needs a state") != std::string::npos);
  CHECK(error({}, true, false).find("names nothing that a state would keep") != std::string::npos);
  CHECK(error({{"none", "present_key0"}}, true, false).find("there is no input 'none'") != std::string::npos);
  CHECK(error({{"past_key0", "none"}}, true, false).find("there is no output 'none'") != std::string::npos);
  CHECK(error({d.pairs[0], {"past_key1", "present_key0"}}, true, false)
            .find("'present_key0' is in two pairs") != std::string::npos);
}

}  // namespace
}  // namespace tenon::devices

// Attention and MultiHeadAttention over the caches of a State: runs copy none of the earlier steps.
#include <cmath>

#include "tenon/graph/passes.hpp"
#include "tenon/graph/state.hpp"
#include "tenon/op/com.microsoft/attention.hpp"
#include "tenon/op/com.microsoft/multi_head_attention.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tests/graph/build.hpp"

namespace tenon {
namespace {

using test::node;
using test::numbers;

constexpr int64_t heads = 2, size = 16, width = heads * size, batch = 2;

struct Stacked {
  DType type = DType::float32;
  bool masked = false;
  float filter = -10000;
  bool reads_past = false;  // the graph returns the sum of past and past too
};

ValueId cast(Graph& g, ValueId x, DType to) { return node(g, op::Cast{.to = static_cast<int64_t>(to)}, {x}); }

/// A com.microsoft.Attention, whose past is (2, batch, heads, steps, size). x and y are float.
Graph stacked(const Stacked& o) {
  Graph g;
  const Dim steps = g.symbol("steps"), past_steps = g.symbol("past_steps");
  const ValueId x = g.add_input("x", DType::float32, {batch, steps, width}),
                past = g.add_input("past", o.type, {2, batch, heads, past_steps, size});
  ValueId mask = -1;
  if (o.masked) mask = g.add_input("mask", DType::int32, {batch, g.symbol("all")});
  const auto constant = [&](const Extents& e, uint32_t seed) {
    return cast(g, g.add_constant({}, AnyTensor(numbers(e, seed))), o.type);
  };
  const std::string names[] = {"", "present"};
  const auto out = g.add_node(
      "attention",
      AnyOperator::make(op::com_microsoft::Attention{
          .mask_filter_value = o.filter, .num_heads = heads, .unidirectional = 1}),
      {cast(g, x, o.type), constant({width, 3 * width}, 1), constant({3 * width}, 2), mask, past}, names);
  g.add_output("y", cast(g, out[0], DType::float32));
  g.add_output("present", out[1]);
  if (o.reads_past) g.add_output("twice", node(g, op::Add{}, {past, past}, "twice"));
  return g;
}

Value steps_of(const Tensor<float>& x, int64_t from, int64_t to) {
  Tensor<float> t{Extents{batch, to - from, width}};
  for (int64_t b = 0; b < batch; ++b)
    std::copy_n(x.data() + (b * x.extent(1) + from) * width, (to - from) * width,
                t.data() + b * (to - from) * width);
  return t;
}
/// Of a mask (batch, all), which hides step 3 of entry 1.
Value mask_of(int64_t all) {
  Tensor<int32_t> t{Extents{batch, all}};
  for (int64_t k = 0; k < t.size(); ++k) t[k] = k != all + 3;
  return t;
}
Feeds feeds_of(const Tensor<float>& x, int64_t from, int64_t to, bool masked) {
  Feeds f{{"x", steps_of(x, from, to)}};
  if (masked) f.emplace_back("mask", mask_of(to));
  return f;
}
Value no_past(DType type) { return AnyTensor::uninitialized(type, {2, batch, heads, 0, size}); }
double rounding(DType type) { return type == DType::float32 ? 1e-5 : type == DType::float16 ? 2e-3 : 2e-2; }

void check_steps(const Value& y, const Value& all, int64_t from, DType type) {
  const int64_t steps = y.tensor().extents()[1];
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t k = 0; k < steps * width; ++k) {
      const float a = y.view<float>().data()[b * steps * width + k],
                  e = all.view<float>().data()[(b * all.tensor().extents()[1] + from) * width + k];
      REQUIRE(std::abs(a - e) <= rounding(type));
    }
}

}  // namespace

TEST_CASE("com.microsoft.Attention: a state keeps keys and values of one past as two caches") {
  const Tensor<float> x = numbers({batch, 23, width}, 7);
  const std::vector<StatePair> pairs{{"past", "present"}};
  for (const DType type : {DType::float32, DType::float16, DType::bfloat16})
    for (const bool masked : {false, true})
      for (const float filter : {-10000.0f, -std::numeric_limits<float>::max()})
        for (const bool passes : {false, true}) {
          if (!masked && filter != -10000) continue;
          CAPTURE(name_of(type));
          CAPTURE(masked);
          CAPTURE(filter);
          SessionOptions options{.explain = true};
          if (passes) options.passes = standard_passes();
          State state({.pairs = pairs, .page_steps = 4});
          options.state = &state;
          const Session s(stacked({.type = type, .masked = masked, .filter = filter}), options);
          for (const PassReport& r : s.reports())
            if (r.pass == "keep_caches") CHECK_MESSAGE(r.applied, r.text);
          Feeds all = feeds_of(x, 0, 23, masked);
          all.emplace_back("past", no_past(type));
          const Outputs whole = s.run(all);
          int64_t at = 0;
          for (const int64_t steps : {9, 1, 1, 5}) {
            check_steps(s.run(feeds_of(x, at, at + steps, masked), {.state = &state})["y"], whole["y"], at,
                        type);
            at += steps;
            CHECK(state.length() == at);
          }
          State fork = state.fork();
          const auto next = [&](State& in, int64_t from, int64_t to, std::vector<std::string> outputs) {
            return s.run(feeds_of(x, from, to, masked), {.outputs = std::move(outputs), .state = &in});
          };
          check_steps(next(state, 16, 20, {})["y"], whole["y"], 16, type);
          state.truncate(6);
          check_steps(next(state, 6, 18, {})["y"], whole["y"], 6, type);
          // A present that is named has all steps, and runs without results add theirs.
          const Value present = next(fork, 16, 23, {"present"})["present"];
          CHECK(fork.length() == 23);
          REQUIRE(present.tensor().extents() == Extents{2, batch, heads, 23, size});
          fork.truncate(20);
          check_steps(next(fork, 20, 23, {"y"})["y"], whole["y"], 20, type);
          const Value again = next(fork, 23, 23, {"present"})["present"];
          CHECK(test::same(present, again));
          // Given to another state, the present is its first steps.
          State given({.pairs = pairs, .page_steps = 4});
          Feeds first = feeds_of(x, 18, 23, masked);
          first.emplace_back("past", next(state, 18, 18, {"present"})["present"]);
          check_steps(s.run(first, {.state = &given})["y"], whole["y"], 18, type);
          CHECK(given.length() == 23);
        }
}

TEST_CASE("com.microsoft.Attention: a step moves as many bytes after a long past as after a short one") {
  for (const DType type : {DType::float32, DType::float16}) {
    CAPTURE(name_of(type));
    const Session s(stacked({.type = type}), {.passes = standard_passes()});
    State state({.pairs = {{"past", "present"}}, .page_steps = 16});
    s.run(feeds_of(numbers({batch, 3000, width}), 0, 3000, false), {.state = &state});
    REQUIRE(state.bytes() > 384000);
    // All memory of a run but pages.
    s.run(feeds_of(numbers({batch, 1, width}), 0, 1, false), {.state = &state, .max_bytes = 16384});
    CHECK(state.length() == 3001);
  }
}

TEST_CASE("com.microsoft.Attention: a past with other readers is copied, and the report says so") {
  State state({.pairs = {{"past", "present", 3}}});
  const Session s(stacked({.reads_past = true}), {.state = &state, .explain = true});
  int copies = 0;
  for (const PassReport& r : s.reports())
    copies += r.text.find("'past' is copied in every run") != std::string::npos;
  CHECK(copies == 1);
  const Tensor<float> x = numbers({batch, 5, width}, 3);
  for (int64_t at = 0; at < 5; ++at)
    CHECK(s.run(feeds_of(x, at, at + 1, false), {.state = &state})["twice"].tensor().extents() ==
          Extents{2, batch, heads, at, size});
  CHECK(state.length() == 5);
  state.truncate(3);
  CHECK(state.length() == 3);
}

TEST_CASE(
    "Attention in float over a past of 16 bits reads it in place, unless that would round its own steps") {
  for (const bool exact : {true, false}) {
    CAPTURE(exact);
    Graph g;
    const Dim steps = g.symbol("steps"), past_steps = g.symbol("past_steps");
    const ValueId x = g.add_input("x", DType::float32, {batch, heads, steps, size});
    const auto past = [&](const char* name) {
      return cast(g, g.add_input(name, DType::float16, {batch, heads, past_steps, size}), DType::float32);
    };
    const ValueId fresh = exact ? cast(g, cast(g, x, DType::float16), DType::float32) : x;
    const ValueId past_key = past("past_key"), past_value = past("past_value");
    const std::string names[] = {"y", "", ""};
    const auto out = g.add_node("attention", AnyOperator::make(op::Attention{}),
                                {x, fresh, fresh, -1, past_key, past_value}, names);
    g.add_output("y", out[0]);
    g.add_output("present_key", cast(g, out[1], DType::float16));
    g.add_output("present_value", cast(g, out[2], DType::float16));
    State state({.pairs = {{"past_key", "present_key"}, {"past_value", "present_value"}}});
    const Session s(std::move(g), {.state = &state, .explain = true});
    bool reads = false, copies = false;
    for (const PassReport& r : s.reports()) {
      reads |= r.applied;
      copies |= r.text.find("copied in every run, because its steps are of 32 bits") != std::string::npos;
    }
    CHECK(reads == exact);
    CHECK(copies != exact);
    const Tensor<float> first = numbers({batch, heads, 7, size}, 3),
                        next = numbers({batch, heads, 2, size}, 4);
    const Value none = AnyTensor::uninitialized(DType::float16, {batch, heads, 0, size});
    const Outputs before = s.run({{"x", first}, {"past_key", none}, {"past_value", none}});
    const Value y = s.run(
        {{"x", next}, {"past_key", before["present_key"]}, {"past_value", before["present_value"]}})["y"];
    s.run({{"x", first}}, {.state = &state});
    const std::vector<float> expected = test::floats(y),
                             found = test::floats(s.run({{"x", next}}, {.state = &state})["y"]);
    for (std::size_t k = 0; k < expected.size(); ++k) REQUIRE(std::abs(found[k] - expected[k]) < 1e-6f);
  }
}

namespace {

struct Multihead {
  DType type = DType::float32;
  bool masked = false, biased = false, causal = true;
  int64_t rows = 0;  // of a past of which past_sequence_length rows count; 0: it grows
  float filter = -10000;
};

/// A com.microsoft.MultiHeadAttention. x and y are float.
Graph multihead(const Multihead& o) {
  Graph g;
  const Dim steps = g.symbol("steps"), past_steps = o.rows > 0 ? Dim(o.rows) : g.symbol("past_steps");
  const ValueId x = cast(g, g.add_input("x", DType::float32, {batch, steps, width}), o.type);
  const auto projected = [&](uint32_t seed) {
    const ValueId w = g.add_constant({}, AnyTensor(numbers({width, width}, seed)));
    return node(g, op::MatMul{}, {x, cast(g, w, o.type)});
  };
  std::vector<ValueId> in{projected(1), projected(2), projected(3), -1, -1, -1, -1, -1, -1};
  if (o.masked) in[4] = g.add_input("mask", DType::int32, {batch, g.symbol("all")});
  if (o.biased)
    in[5] = cast(g, g.add_input("bias", DType::float32, {1, heads, steps, g.symbol("all")}), o.type);
  in[6] = g.add_input("past_key", o.type, {batch, heads, past_steps, size});
  in[7] = g.add_input("past_value", o.type, {batch, heads, past_steps, size});
  if (o.rows > 0) in[8] = g.add_input("filled", DType::int32, {1});
  const std::string names[] = {"", "present_key", "present_value"};
  const auto out =
      g.add_node("attention",
                 AnyOperator::make(op::com_microsoft::MultiHeadAttention{
                     .mask_filter_value = o.filter, .num_heads = heads, .unidirectional = o.causal}),
                 in, names);
  g.add_output("y", cast(g, out[0], DType::float32));
  g.add_output("present_key", out[1]);
  g.add_output("present_value", out[2]);
  return g;
}
Feeds feeds_of(const Multihead& o, const Tensor<float>& x, int64_t from, int64_t to) {
  Feeds f = feeds_of(x, from, to, o.masked);
  if (o.biased) {  // what a step and a key share does not depend on the run
    Tensor<float> t{Extents{1, heads, to - from, to}};
    for (int64_t k = 0; k < t.size(); ++k) {
      const int64_t key = k % to, step = from + k / to % (to - from), head = k / to / (to - from);
      t[k] = static_cast<float>((key * 5 + step * 3 + head) % 7) / 4;
    }
    f.emplace_back("bias", t);
  }
  if (o.rows > 0) f.emplace_back("filled", Tensor<int32_t>(Extents{1}, {static_cast<int32_t>(from)}));
  return f;
}
const std::vector<StatePair> key_and_value{{"past_key", "present_key"}, {"past_value", "present_value"}};

std::vector<Multihead> multihead_forms() {
  std::vector<Multihead> forms;
  for (const DType type : {DType::float32, DType::float16})
    for (const bool masked : {false, true})
      for (const bool biased : {false, true})
        for (const bool causal : {false, true}) {
          forms.push_back({.type = type, .masked = masked, .biased = biased, .causal = causal});
          if (masked) forms.push_back(forms.back()), forms.back().filter = -std::numeric_limits<float>::max();
        }
  return forms;
}

}  // namespace

TEST_CASE("com.microsoft.MultiHeadAttention: a state's pasts, growing and of rows that are filled") {
  const Tensor<float> x = numbers({batch, 20, width}, 7);
  for (const Multihead& grows : multihead_forms()) {
    Multihead fills = grows;
    fills.rows = 24;
    CAPTURE(name_of(grows.type));
    CAPTURE(grows.masked);
    CAPTURE(grows.biased);
    CAPTURE(grows.causal);
    CAPTURE(grows.filter);
    const Session s(multihead(grows), {.passes = standard_passes()}), f(multihead(fills));
    State state({.pairs = key_and_value, .page_steps = 4}), filled({.pairs = key_and_value});
    int64_t at = 0;
    for (const int64_t steps : {7, 1, 1, 4, 1}) {
      const int64_t to = at + steps;
      // Without causality, all steps of a run see its last one.
      Feeds all = feeds_of(grows, x, 0, grows.causal ? 20 : to);
      for (const char* past : {"past_key", "past_value"})
        all.emplace_back(past, AnyTensor::uninitialized(grows.type, {batch, heads, 0, size}));
      const Value whole = s.run(all)["y"];
      const Value y = s.run(feeds_of(grows, x, at, to), {.state = &state})["y"];
      check_steps(y, whole, at, grows.type);
      check_steps(f.run(feeds_of(fills, x, at, to), {.state = &filled})["y"], y, 0, grows.type);
      at = to;
      CHECK(state.length() == at);
    }
    State fork = filled.fork();
    const Value y = f.run(feeds_of(fills, x, 9, 12), {.state = &fork})["y"];
    state.truncate(9);
    check_steps(y, s.run(feeds_of(grows, x, 9, 12), {.state = &state})["y"], 0, grows.type);
  }
}

TEST_CASE(
    "com.microsoft.MultiHeadAttention: a step moves as many bytes after a long past as after a short one") {
  const Tensor<float> x = numbers({batch, 3001, width});
  for (Multihead o : multihead_forms())
    for (const int64_t rows : {0, 4000}) {
      o.rows = rows;
      CAPTURE(name_of(o.type));
      CAPTURE(o.masked);
      CAPTURE(o.biased);
      CAPTURE(o.causal);
      CAPTURE(rows);
      const Session s(multihead(o), {.passes = standard_passes()});
      State state({.pairs = key_and_value, .page_steps = 16});
      for (int64_t at = 0; at < 3000; at += 500)
        s.run(feeds_of(o, x, at, at + 500), {.outputs = {"present_key", "present_value"}, .state = &state});
      // Masks and biases of a step are for all keys, of four bytes at most, in a few forms. Presents that lie
      // in their pasts' memory count as well.
      const int64_t presents = 2 * rows * batch * heads * size * bits_of(o.type) / 8;
      s.run(feeds_of(o, x, 3000, 3001), {.state = &state, .max_bytes = presents + 300000});
    }
}

}  // namespace tenon

// Runs with a state that fail: the state stays as it was, and the error says why.
#include "tenon/graph/state.hpp"

#include "tenon/op/tensor/cast.hpp"
#include "tests/graph/decoder.hpp"

namespace tenon {
using namespace test;

TEST_CASE("a run that fails leaves the state as it was") {
  const Tensor<float> x = numbers({1, 8, width}, 9);
  const Session s = session_of(Form::concat);
  const Value expected = whole(s, Form::concat, x);
  State state({.pairs = pairs, .page_steps = 4});
  s.run(feeds_of(Form::concat, x, 0, 3), {.state = &state});
  Feeds wrong = feeds_of(Form::concat, x, 3, 6);
  wrong[1].second = causal(1, 0, 7);
  CHECK_THROWS_AS(s.run(wrong, {.state = &state}), Error);
  Feeds batch{{"x", Tensor<float>(Extents{2, 1, width})}, {"mask", causal(2, 3, 4)}};
  test::check_error([&] { s.run(batch, {.state = &state}); },
                    {"cache: it holds steps of (1,2,4), not (2,2,4)"});
  CHECK(state.length() == 3);
  check_close(steps_of(s.run(feeds_of(Form::concat, x, 3, 8), {.state = &state})["y"], 0, 5),
              steps_of(expected, 3, 8));
}

TEST_CASE("a run or a cut without memory leaves the state as it was") {
  /// Refuses one allocation, after `left` others.
  class Refusing final : public Allocator {
   public:
    void* allocate(std::size_t bytes, std::size_t alignment) override {
      return left-- == 0 ? nullptr : detail::heap_allocate(bytes, alignment);
    }
    void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
      detail::heap_free(memory, bytes, alignment);
    }
    int left = -1;
  };
  const Tensor<float> x = numbers({1, 12, width}, 9);
  for (Form form : {Form::attention, Form::concat, Form::concat_with_readers})
    for (bool passes : {true, false})
      for (bool cuts : {false, true}) {
        CAPTURE(static_cast<int>(form));
        CAPTURE(passes);
        CAPTURE(cuts);
        const Session s = session_of(form, passes);
        const Value expected = whole(s, form, x);
        int failed = 0;
        for (bool fails = true; fails; ++failed) {
          Refusing memory;
          State state({.pairs = pairs, .page_steps = 4, .allocator = &memory});
          const auto run = [&](int64_t from, int64_t to) {
            check_close(steps_of(s.run(feeds_of(form, x, from, to), {.state = &state})["y"], 0, to - from),
                        steps_of(expected, from, to));
          };
          run(0, 3);
          memory.left = failed;
          try {
            if (cuts) state.truncate(2);
            else s.run(feeds_of(form, x, 3, 10), {.state = &state});
            fails = false;
          } catch (const Error&) {
          }
          memory.left = -1;
          if (fails) CHECK(state.length() == 3);
          run(state.length(), 12);
        }
        if (!cuts) CHECK(failed > 1);
      }
}

TEST_CASE("a first run that fails leaves no extents") {
  const Tensor<float> x = numbers({1, 4, width}, 9);
  const Session s = session_of(Form::concat);
  State state({.pairs = pairs});
  Feeds wrong{{"x", numbers({2, 2, width})}, {"mask", causal(2, 0, 5)}};
  CHECK_THROWS_AS(s.run(wrong, {.state = &state}), Error);
  check_close(steps_of(s.run(feeds_of(Form::concat, x, 0, 4), {.state = &state})["y"], 0, 4),
              steps_of(whole(s, Form::concat, x), 0, 4));
}

TEST_CASE("a run with a state that a rule refuses names the graph's node") {
  const Tensor<float> x = numbers({1, 6, width}, 3);
  const Session s = session_of(Form::concat);
  State state({.pairs = pairs});
  s.run(feeds_of(Form::concat, x, 0, 4), {.state = &state});
  Feeds wrong = feeds_of(Form::concat, x, 4, 6);
  for (auto& [name, value] : wrong)
    if (name == "mask") value = Tensor<float>(Extents{1, 1, 3, 6});
  CHECK_THROWS_AS(s.run(wrong, {.state = &state}), Error);
  CHECK(state.length() == 4);
}

TEST_CASE("a first run that fails forgets the pasts that it was given") {
  const Tensor<float> x = numbers({1, 6, width}, 3);
  const Form form = Form::concat;
  const Session s = session_of(form);
  const auto feeds = [&](bool right) {
    Feeds f = feeds_of(form, x, 4, 6);
    for (auto& [name, value] : f)
      if (name == "mask" && !right) value = Tensor<float>(Extents{1, 1, 3, 6});
    f.emplace_back("past_key", whole(s, form, part(x, 0, 4).as<float>(), "present_key"));
    f.emplace_back("past_value", whole(s, form, part(x, 0, 4).as<float>(), "present_value"));
    return f;
  };
  State state({.pairs = pairs});
  CHECK_THROWS_AS(s.run(feeds(false), {.state = &state}), Error);
  CHECK(state.length() == 0);
  check_close(steps_of(s.run(feeds(true), {.state = &state})["y"], 0, 2), steps_of(whole(s, form, x), 4, 6));
  CHECK_THROWS_AS((void)s.bind(feeds(true), {}, {.state = &state}), Error);
}

TEST_CASE("an Attention whose keys have no heads is an error with a state, too") {
  Graph g;
  const Dim batch = g.symbol("batch"), steps = g.symbol("steps"), past = g.symbol("past"),
            kv_heads = g.symbol("kv_heads");
  const ValueId q = g.add_input("q", DType::float32, {batch, g.symbol("heads"), steps, size}),
                k = g.add_input("k", DType::float32, {batch, kv_heads, steps, size}),
                past_key = g.add_input("past_key", DType::float32, {batch, kv_heads, past, size}),
                past_value = g.add_input("past_value", DType::float32, {batch, kv_heads, past, size});
  const std::string names[] = {"y", "present_key", "present_value"};
  const auto out =
      g.add_node("attention", AnyOperator::make(op::Attention{}), {q, k, k, -1, past_key, past_value}, names);
  for (std::size_t n = 0; n < 3; ++n) g.add_output(names[n], out[n]);
  const Session s(std::move(g));
  State state({.pairs = pairs});
  const Value some = numbers({1, 2, 1, size}), none = Tensor<float>(Extents{1, 0, 1, size});
  test::check_error([&] { s.run({{"q", some}, {"k", none}}, {.state = &state}); },
                    {"node 'attention'", "do not fit a cache of keys for (1,0,4)"});
  CHECK(state.length() == 0);
  s.run({{"q", some}, {"k", some}}, {.state = &state});
  CHECK(state.length() == 1);
}

TEST_CASE("presents that their pasts do not declare are refused by the next run") {
  const auto session = [](bool longer) {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, {g.symbol("N")}),
                  past = g.add_input("past", DType::float32, {3});
    const ValueId sum = node(g, op::Add{}, {x, past});
    g.add_output("y", sum);
    g.add_output("present", longer ? node(g, op::Concat{.axis = 0}, {sum, sum})
                                   : node(g, op::Cast{.to = static_cast<int64_t>(DType::float64)}, {sum}));
    return Session(std::move(g), {.passes = standard_passes()});
  };
  for (const bool longer : {false, true}) {
    const Session s = session(longer);
    State state({.pairs = {{"past", "present"}}});
    s.run({{"x", numbers({3})}}, {.state = &state});
    test::check_error([&] { s.run({{"x", numbers({longer ? 6 : 3})}}, {.state = &state}); },
                      {"input 'past': ", longer ? "(6) given, (3) declared" : "tensor(double) given"});
  }
}

TEST_CASE("mistakes with states are errors") {
  const Session s = session_of(Form::attention);
  const Tensor<float> x = numbers({1, 2, width});
  const Feeds feeds = feeds_of(Form::attention, x, 0, 2);
  test::check_error([&] { State({.pairs = {{"a", "b"}, {"a", "c"}}}); }, {"state: 'a' is in two pairs"});
  State unknown({.pairs = {{"past", "present_key"}}});
  test::check_error([&] { s.run(feeds, {.state = &unknown}); }, {"session: input 'past_key' is missing"});
  State partly({.pairs = {pairs[0], {"past", "present_value"}}});
  test::check_error([&] { s.run(feeds, {.state = &partly}); }, {"session: the state's 'past' is no input"});
  State wrong({.pairs = {{"past_key", "present"}}});
  test::check_error([&] { s.run(feeds, {.state = &wrong}); }, {"session: there is no value 'present'"});
  State state({.pairs = pairs});
  Feeds more = feeds;
  more.emplace_back("past_key", no_past(1));
  s.run(more, {.state = &state});
  test::check_error([&] { s.run(more, {.state = &state}); },
                    {"session: input 'past_key' is given by the state"});
  CHECK_THROWS_AS(State({.pairs = pairs, .page_steps = 0}), Error);
  test::check_error([&] { State({.pairs = pairs, .capacity = -1}); }, {"state: capacity: -1"});
}

}  // namespace tenon

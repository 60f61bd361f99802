// Caches that runs write rows into: a State keeps them, and makes room for more rows.
#include <cmath>

#include "tenon/graph/session.hpp"
#include "tenon/graph/state.hpp"
#include "tenon/op/com.microsoft/group_query_attention.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/tensor_scatter.hpp"
#include "tests/graph/build.hpp"

namespace tenon {
namespace {

using test::node;
using test::numbers;

constexpr int64_t size = 4, width = 2 * size;

/// x (batch, steps, 8) is projected to two heads of queries and one of keys and values. `element` is the one
/// of y with that number, so that a run can fail after the attention. A quantised cache has scales for
/// numbers up to 2.
Graph decoder(const op::com_microsoft::GroupQueryAttention& attention = {.kv_num_heads = 1, .num_heads = 2},
              Dim rows = {}) {
  Graph g;
  const Dim batch = g.symbol("batch"), steps = g.symbol("steps"),
            past = rows.known() ? rows : g.symbol("past");
  const ValueId x = g.add_input("x", DType::float32, {batch, steps, width});
  const auto projected = [&](int64_t to, uint32_t seed) {
    return node(g, op::MatMul{}, {x, g.add_constant({}, AnyTensor(numbers({width, to}, seed)))});
  };
  const int64_t bits = attention.kv_cache_bit_width, vector = bits == 4 ? size / 2 : size;
  const DType type = bits == 0 ? DType::float32 : bits == 8 ? DType::int8 : DType::uint8;
  const ValueId past_key = g.add_input("past_key", type, {batch, 1, past, vector}),
                past_value = g.add_input("past_value", type, {batch, 1, past, vector}),
                seqlens = g.add_input("seqlens", DType::int32, {batch}),
                total = g.add_input("total", DType::int32, Dims::of_rank(0));
  std::vector<ValueId> in{
      projected(width, 1), projected(size, 2), projected(size, 3), past_key, past_value, seqlens, total};
  if (bits > 0) {
    const float scale = 4.0f / (bits == 8 ? 127 : 7);
    in.resize(12, -1);
    for (uint32_t seed : {4, 5}) {
      Tensor<float> scales = numbers({attention.k_quant_type == "PER_CHANNEL" ? size : 1}, seed);
      for (float& x : scales) x = scale * (1 + 0.2f * x);
      in.push_back(g.add_constant({}, AnyTensor(scales)));
    }
  }
  const std::string names[] = {"y", "present_key", "present_value"};
  const auto out = g.add_node("attention", AnyOperator::make(attention), std::move(in), names);
  for (std::size_t k = 0; k < 3; ++k) g.add_output(names[k], out[k]);
  const ValueId number = g.add_input("number", DType::int64, {1});
  g.add_output("element", node(g, op::Gather{.axis = 2}, {out[0], number}, "element"));
  return g;
}
Value steps_of(const Tensor<float>& x, int64_t from, int64_t to) {
  Tensor<float> t{Extents{1, to - from, width}};
  std::copy_n(x.data() + from * width, (to - from) * width, t.data());
  return t;
}
Feeds feeds_of(const Tensor<float>& x, int64_t from, int64_t to, int64_t number = 0) {
  return {{"x", steps_of(x, from, to)},
          {"seqlens", Tensor<int32_t>(Extents{1}, {static_cast<int32_t>(to - 1)})},
          {"total", Tensor<int32_t>(Extents{}, {static_cast<int32_t>(to)})},
          {"number", Tensor<int64_t>(Extents{1}, {number})}};
}

/// A row is written to a cache of six rows of two numbers.
Graph scatter(const char* mode = "linear") {
  Graph g;
  const ValueId cache = g.add_input("cache", DType::float32, {1, 1, 6, 2}),
                update = g.add_input("update", DType::float32, {1, 1, 1, 2}),
                at = g.add_input("at", DType::int64, {1});
  g.add_output("present", node(g, op::TensorScatter{.mode = mode}, {cache, update, at}, "present"));
  return g;
}
Feeds row_of(float value, int64_t row) {
  return {{"update", Tensor<float>(Extents{1, 1, 1, 2}, {value, -value})},
          {"at", Tensor<int64_t>(Extents{1}, {row})}};
}

}  // namespace

TEST_CASE("GroupQueryAttention: steps with a state give what the whole prompt gives") {
  const Tensor<float> x = numbers({1, 20, width}, 7);
  const Session s(decoder());
  const std::vector<StatePair> pairs{{"past_key", "present_key"}, {"past_value", "present_value"}};
  State state({.pairs = pairs, .capacity = 4});
  std::optional<State> fork;
  Outputs out;
  int64_t bytes = 0;
  const auto run = [&](State& in, int64_t from, int64_t to) {
    s.run(feeds_of(x, from, to), out, {.state = &in});
    CHECK(out.size() == 2);
    State fresh({.pairs = pairs});
    const Value whole = s.run(feeds_of(x, 0, to), {.state = &fresh})["y"];
    CAPTURE(from);
    CAPTURE(to);
    for (int64_t k = 0; k < (to - from) * width; ++k)
      REQUIRE(out["y"].view<float>().data()[k] ==
              doctest::Approx(whole.view<float>().data()[from * width + k]).epsilon(1e-5).scale(1));
  };
  run(state, 0, 3);
  for (int64_t at = 3; at < 20; ++at) {
    run(state, at, at + 1);
    if (at == 8) fork = state.fork();
    if (at == 10 || at == 14) bytes = state.bytes();
    if (at == 12 || at == 15) CHECK(state.bytes() == bytes);  // within the room of 16 rows
  }
  run(*fork, 9, 10);
  state.truncate(5);
  run(state, 5, 6);
}

TEST_CASE("GroupQueryAttention: a state keeps the codes of a cache, which attention reads") {
  const Tensor<float> x = numbers({1, 40, width}, 7);
  const std::vector<StatePair> pairs{{"past_key", "present_key"}, {"past_value", "present_value"}};
  const Session exact(decoder());
  const auto text = [](const Session& s, State& in, const Tensor<float>& of,
                       std::initializer_list<int64_t> ends) {
    std::vector<float> y;
    for (int64_t from = 0; const int64_t end : ends) {
      const std::vector<float> part = test::floats(s.run(feeds_of(of, from, end), {.state = &in})["y"]);
      y.insert(y.end(), part.begin(), part.end());
      from = end;
    }
    return y;
  };
  State plain({.pairs = pairs, .capacity = 64});
  const std::vector<float> numbers = text(exact, plain, x, {40});
  for (const int64_t bits : {8, 4})
    for (const char* scales : {"PER_TENSOR", "PER_CHANNEL"}) {
      CAPTURE(bits);
      CAPTURE(std::string(scales));
      op::com_microsoft::GroupQueryAttention a{.kv_cache_bit_width = bits, .kv_num_heads = 1, .num_heads = 2};
      a.k_quant_type = a.v_quant_type = scales;
      std::vector<std::vector<float>> of_threads;
      for (const int threads : {1, 2, 5}) {
        const Session s(decoder(a), {.threads = threads});
        State whole({.pairs = pairs, .capacity = 64}), state({.pairs = pairs, .capacity = 4});
        const std::vector<float> all = text(s, whole, x, {40});
        // The codes depend on the numbers alone, and the sums not on how the few steps of a run are divided.
        const std::vector<float> y = text(s, state, x, {3, 4, 8, 9, 10, 17});
        State other({.pairs = pairs, .capacity = 4});
        CHECK(text(s, other, x, {8, 9, 17}) == y);
        for (std::size_t k = 0; k < y.size(); ++k)
          REQUIRE(y[k] == doctest::Approx(all[k]).epsilon(1e-5).scale(1));
        double error = 0, square = 0;
        for (std::size_t k = 0; k < all.size(); ++k) {
          error += std::pow(double{all[k]} - double{numbers[k]}, 2);
          square += std::pow(double{numbers[k]}, 2);
        }
        CHECK(std::sqrt(error / square) < (bits == 8 ? 0.015 : 0.25));
        CHECK(whole.bytes() * (32 / bits) == plain.bytes());
        of_threads.push_back(y);
        // A fork goes on by itself, and rows that are cut off are written again.
        State fork = state.fork();
        const auto next = [&](State& in, int64_t from) {
          return test::floats(s.run(feeds_of(x, from, from + 3), {.state = &in})["y"]);
        };
        const std::vector<float> after = next(state, 17);
        CHECK(next(fork, 17) == after);
        fork.truncate(14);
        CHECK(next(fork, 14) == std::vector<float>(y.begin() + 14 * width, y.begin() + 17 * width));
        CHECK(next(state, 17) == after);
      }
      for (const std::vector<float>& y : of_threads) CHECK(y == of_threads[0]);
    }
}

TEST_CASE("GroupQueryAttention: a run that fails leaves the cache of a window as it was") {
  const Tensor<float> x = numbers({1, 20, width}, 7);
  const op::com_microsoft::GroupQueryAttention whole{
      .kv_num_heads = 1, .local_window_size = 5, .num_heads = 2};
  op::com_microsoft::GroupQueryAttention window = whole;
  window.sliding_window_cache = 1;
  const Session s(decoder(window)), with_all_rows(decoder(whole));
  const std::vector<StatePair> pairs{{"past_key", "present_key"}, {"past_value", "present_value"}};
  State state({.pairs = pairs, .capacity = 8}), all({.pairs = pairs, .capacity = 20});
  for (int64_t at = 0; at < 20; ++at) {
    CAPTURE(at);
    test::check_error([&] { (void)s.run(feeds_of(x, at, at + 1, width), {.state = &state}); }, {"Gather"});
    const Outputs out = s.run(feeds_of(x, at, at + 1), {.state = &state});
    const Outputs expected = with_all_rows.run(feeds_of(x, at, at + 1), {.state = &all});
    for (int64_t k = 0; k < width; ++k)
      REQUIRE(out["y"].view<float>().data()[k] ==
              doctest::Approx(expected["y"].view<float>().data()[k]).epsilon(1e-5).scale(1));
  }
  test::check_error([&] { state.truncate(3); }, {"past_key", "latest steps only"});
}

TEST_CASE("GroupQueryAttention: a run that needs more rows than its past declares is refused") {
  const op::com_microsoft::GroupQueryAttention attention{.kv_num_heads = 1, .num_heads = 2};
  const Tensor<float> x = numbers({1, 9, width}, 7);
  const Session s(decoder(attention, 6)), open(decoder(attention));
  const std::vector<StatePair> pairs{{"past_key", "present_key"}, {"past_value", "present_value"}};
  State state({.pairs = pairs}), all({.pairs = pairs});
  const auto y = [&](const Session& session, State& in, int64_t from, int64_t to) {
    return test::floats(session.run(feeds_of(x, from, to), {.state = &in})["y"]);
  };
  test::check_error([&] { y(s, state, 0, 7); }, {"node 'attention' (GroupQueryAttention-1)",
                                                 "'past_key' declares 6 rows", "there are 7"});
  CHECK(y(s, state, 0, 4) == y(open, all, 0, 4));
  CHECK(y(s, state, 4, 6) == y(open, all, 4, 6));
  for (int times = 0; times < 2; ++times)
    test::check_error([&] { y(s, state, 6, 7); }, {"'past_key' declares 6 rows", "there are 7"});
  CHECK(y(s, state, 5, 6) == y(open, all, 5, 6));
}

TEST_CASE("GroupQueryAttention: a state gives the cache of a window as many rows as it needs") {
  const op::com_microsoft::GroupQueryAttention whole{
      .kv_num_heads = 1, .local_window_size = 5, .num_heads = 2};
  op::com_microsoft::GroupQueryAttention window = whole;
  window.sliding_window_cache = 1;
  const Session s(decoder(window)), with_all_rows(decoder(whole));
  const Tensor<float> x = numbers({1, 20, width}, 7);
  const std::vector<StatePair> pairs{{"past_key", "present_key"}, {"past_value", "present_value"}};
  State state({.pairs = pairs, .capacity = 2}), all({.pairs = pairs});
  for (int64_t at = 0; at < 20; at = at == 0 ? 7 : at + 1) {
    const int64_t to = at == 0 ? 7 : at + 1;
    const std::vector<float> y = test::floats(s.run(feeds_of(x, at, to), {.state = &state})["y"]),
                             expected =
                                 test::floats(with_all_rows.run(feeds_of(x, at, to), {.state = &all})["y"]);
    for (std::size_t k = 0; k < y.size(); ++k)
      REQUIRE(y[k] == doctest::Approx(expected[k]).epsilon(1e-5).scale(1));
  }
  CHECK(state.bytes() <= 2 * 2 * 5 * size * 4);  // keys and values, and the memory of the next ones
}

TEST_CASE("TensorScatter: no step of a circular cache can be cut off") {
  const Session s(scatter("circular"));
  State state({.pairs = {{"cache", "present"}}});
  for (int64_t row = 0; row < 8; ++row) (void)s.run(row_of(static_cast<float>(row), row), {.state = &state});
  CHECK(test::floats(s.run(row_of(8, 8), {.outputs = {"present"}, .state = &state})["present"]) ==
        std::vector<float>{6, -6, 7, -7, 8, -8, 3, -3, 4, -4, 5, -5});
  test::check_error([&] { state.truncate(3); }, {"cache", "latest steps only"});
}

TEST_CASE("TensorScatter: a state's cache is written in place") {
  const Session s(scatter());
  State state({.pairs = {{"cache", "present"}}});
  const auto run = [&](float value, int64_t row, const RunOptions& options) {
    return s.run(row_of(value, row), options);
  };
  run(1, 0, {.state = &state});
  const int64_t bytes = state.bytes();
  run(2, 1, {.state = &state});
  State fork = state.fork();
  run(9, 1, {.state = &fork});
  CHECK(test::floats(run(4, 3, {.outputs = {"present"}, .state = &state})["present"]) ==
        std::vector<float>{1, -1, 2, -2, 0, 0, 4, -4, 0, 0, 0, 0});
  CHECK(test::floats(run(5, 0, {.outputs = {"present"}, .state = &fork})["present"]) ==
        std::vector<float>{5, -5, 9, -9, 0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(state.bytes() == bytes);
}

TEST_CASE("TensorScatter: a present that is named shows the state, and does not change it") {
  const Session s(scatter());
  State state({.pairs = {{"cache", "present"}}});
  const RunOptions named{.outputs = {"present", "present"}, .state = &state};
  Outputs out;
  const void* place = nullptr;
  for (int row = 0; row < 3; ++row) {
    s.run(row_of(static_cast<float>(row + 1), row), out, named);
    const AnyTensor& present = out[1].tensor();
    if (place != nullptr) CHECK(present.data() == place);  // in place, as the earlier result is replaced
    place = present.data();
    test::check_error([&] { (void)out["present"].tensor().out(); }, {"may only be read"});
    test::check_error([&] { (void)out[1].tensor().out(); }, {"may only be read"});
  }
  const std::vector<float> now{1, -1, 2, -2, 3, -3, 0, 0, 0, 0, 0, 0};
  const Value held = out["present"];
  Tensor<float> own = std::move(out["present"]).as<float>();
  own[0] = 77;
  (void)s.run(row_of(9, 0), {.state = &state});
  CHECK(test::floats(held) == now);
  CHECK(test::floats(s.run(row_of(4, 3), named)["present"]) ==
        std::vector<float>{9, -9, 2, -2, 3, -3, 4, -4, 0, 0, 0, 0});
}

}  // namespace tenon

// A decoder of one layer, in the forms that exporters write, and what its steps are fed.
#pragma once

#include <algorithm>
#include <limits>

#include "tenon/graph/passes.hpp"
#include "tenon/graph/state.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/concat.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/shape.hpp"
#include "tenon/op/tensor/transpose.hpp"
#include "tests/graph/build.hpp"

namespace tenon::test {

constexpr int64_t heads = 2, size = 4, width = heads * size;

inline ValueId cast(Graph& g, ValueId x, DType to) {
  return node(g, op::Cast{.to = static_cast<int64_t>(to)}, {x});
}
inline ValueId swapped(Graph& g, ValueId x) { return node(g, op::Transpose{{0, 1, 3, 2}}, {x}); }

/// How a decoder's graph adds steps to its past.
enum class Form { attention, packed_attention, concat, concat_with_readers };

/// x (batch, steps, 8) is projected to queries, keys and values; y is attention to all steps so far, causal.
/// `concat` takes a mask, (batch, 1, steps, all steps); without it, Attention's own is_causal. The decoder of
/// first steps has no past.
inline Graph decoder(Form form, int64_t window = -1, bool first = false) {
  Graph g;
  const Dim batch = g.symbol("batch"), steps = g.symbol("steps"), past = g.symbol("past");
  const ValueId x = g.add_input("x", DType::float32, {batch, steps, width});
  const auto projected = [&](uint32_t seed) {
    return node(g, op::MatMul{}, {x, g.add_constant({}, AnyTensor(numbers({width, width}, seed)))});
  };
  const ValueId by_heads = g.add_constant({}, AnyTensor(Tensor<int64_t>(Extents{4}, {0, 0, heads, size})));
  const auto split = [&](ValueId v) {
    return node(g, op::Transpose{{0, 2, 1, 3}}, {node(g, op::Reshape{}, {v, by_heads})});
  };
  ValueId q = projected(1), k = projected(2), v = projected(3);
  if (form != Form::packed_attention) q = split(q), k = split(k), v = split(v);
  ValueId past_key = -1, past_value = -1;
  if (!first) {
    past_key = g.add_input("past_key", DType::float32, {batch, heads, past, size});
    past_value = g.add_input("past_value", DType::float32, {batch, heads, past, size});
  }
  if (form == Form::attention || form == Form::packed_attention) {
    op::Attention attention{.is_causal = 1};
    attention.left_window_size = window;
    if (form == Form::packed_attention) attention.q_num_heads = attention.kv_num_heads = heads;
    const std::string names[] = {"y", "present_key", "present_value", "scores"};
    const auto out =
        g.add_node("attention", AnyOperator::make(attention), {q, k, v, -1, past_key, past_value}, names);
    for (int i = 0; i < 3; ++i) g.add_output(names[i], out[static_cast<std::size_t>(i)]);
    return g;
  }
  const ValueId mask = g.add_input("mask", DType::float32, {batch, 1, steps, g.symbol("all")});
  if (!first) {
    k = node(g, op::Concat{.axis = 2}, {past_key, k}, "present_key");
    v = node(g, op::Concat{.axis = -2}, {past_value, v}, "present_value");
  }
  const ValueId scores =
      node(g, op::Add{}, {node(g, op::MatMul{}, {q, node(g, op::Transpose{{0, 1, 3, 2}}, {k})}), mask});
  ValueId y = node(g, op::MatMul{}, {node(g, op::Softmax{}, {scores}), v}, "y");
  if (form == Form::concat_with_readers) {
    // The number of earlier steps, and a sum over all keys, are read as well.
    const ValueId two = g.add_constant({}, AnyTensor(Tensor<int64_t>(Extents{}, {2})));
    g.add_output("past_steps", node(g, op::Gather{}, {node(g, op::Shape{}, {past_key}), two}, "past_steps"));
    g.add_output("steps", node(g, op::Shape{}, {k}, "steps"));
    g.add_output("total", node(g, op::Add{}, {k, k}, "total"));
  }
  g.add_output("y", y);
  g.add_output("present_key", k);
  g.add_output("present_value", v);
  return g;
}

inline const std::vector<StatePair> pairs{{"past_key", "present_key"}, {"past_value", "present_value"}};

inline Value part(const Tensor<float>& all, int64_t from, int64_t to) {
  const int64_t batch = all.extent(0), steps = all.extent(1);
  Tensor<float> t{Extents{batch, to - from, width}};
  for (int64_t b = 0; b < batch; ++b)
    std::copy_n(all.data() + (b * steps + from) * width, (to - from) * width,
                t.data() + b * (to - from) * width);
  return t;
}
/// Forbids later steps.
inline Value causal(int64_t batch, int64_t from, int64_t to) {
  Tensor<float> t{Extents{batch, 1, to - from, to}};
  for (int64_t k = 0; k < t.size(); ++k) {
    const int64_t i = k / to % (to - from), j = k % to;
    t[k] = j > from + i ? -std::numeric_limits<float>::infinity() : 0.0f;
  }
  return t;
}
inline Feeds feeds_of(Form form, const Tensor<float>& all, int64_t from, int64_t to) {
  Feeds f{{"x", part(all, from, to)}};
  if (form != Form::attention && form != Form::packed_attention)
    f.emplace_back("mask", causal(all.extent(0), from, to));
  return f;
}

inline Value no_past(int64_t batch) { return Tensor<float>(Extents{batch, heads, 0, size}); }

inline Session session_of(Form form, bool passes = true, int64_t window = -1) {
  SessionOptions options;
  if (passes) options.passes = standard_passes();
  return Session(decoder(form, window), options);
}
/// y over all steps in one run without a state.
inline Value whole(const Session& s, Form form, const Tensor<float>& all, std::string_view name = "y") {
  Feeds f = feeds_of(form, all, 0, all.extent(1));
  f.emplace_back("past_key", no_past(all.extent(0)));
  f.emplace_back("past_value", no_past(all.extent(0)));
  return s.run(f)[name];
}
/// The steps [from, to) of y.
inline std::vector<float> steps_of(const Value& y, int64_t from, int64_t to) {
  const Extents& e = y.tensor().extents();  // (batch, heads, steps, size) or (batch, steps, width)
  const bool packed = e.size() == 3;
  const int64_t rows = packed ? e[0] : e[0] * e[1], steps = packed ? e[1] : e[2], row = packed ? e[2] : e[3];
  std::vector<float> result;
  for (int64_t r = 0; r < rows; ++r)
    result.insert(result.end(), y.view<float>().data() + (r * steps + from) * row,
                  y.view<float>().data() + (r * steps + to) * row);
  return result;
}
inline void check_close(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t k = 0; k < a.size(); ++k) REQUIRE(a[k] == doctest::Approx(b[k]).epsilon(1e-5).scale(1));
}

}  // namespace tenon::test

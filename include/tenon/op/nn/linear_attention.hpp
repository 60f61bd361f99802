// LinearAttention: attention through a state instead of scores.
// onnx.ai/onnx/operators/onnx__LinearAttention.html
#pragma once

#include <cmath>

#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/kernels/linear_attention.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/framework/attribute.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// Each KV head has a state S (key size, value size), which each step updates and reads: with the rules
/// "gated" and "gated_delta" S = exp(decay) S; then S += k v^T, with "delta" and "gated_delta" S += k (beta
/// (v - S^T k))^T; output = scale S^T q for the query heads of the KV head. query is (batch, steps, heads *
/// key size), key and value (batch, steps, KV heads * key or value size), states (batch, KV heads, key size,
/// value size); decay has a number for each KV head or for each of its keys, beta one for each KV head or one
/// for all. scale 0 is 1 / sqrt(key size). chunk_size is a hint. Computes in float.
/// call<2>(op::LinearAttention{.kv_num_heads = 2, .q_num_heads = 4, .update_rule = "linear"}, q, k, v) of
/// (1,5,12), (1,5,6) and (1,5,8) gives (1,5,16) and (1,2,3,4).
struct LinearAttention {
  int64_t chunk_size = 64;
  Opt<int64_t> kv_num_heads{};
  Opt<int64_t> q_num_heads{};
  float scale = 0;
  Str update_rule = "gated_delta";

  static constexpr Spec spec{.name = "LinearAttention",
                             .since = {27},
                             .inputs = {{"query", "T"},
                                        {"key", "T"},
                                        {"value", "T"},
                                        {"past_state", "S", optional},
                                        {"decay", "T", optional},
                                        {"beta", "T", optional}},
                             .outputs = {{"output", "T"}, {"present_state", "S"}},
                             .types = {{"T", types::float32 | types::float16 | types::bfloat16},
                                       {"S", types::float32 | types::float16 | types::bfloat16}}};
  static constexpr Attributes attributes{attr("chunk_size", &LinearAttention::chunk_size),
                                         attr("kv_num_heads", &LinearAttention::kv_num_heads).required(),
                                         attr("q_num_heads", &LinearAttention::q_num_heads).required(),
                                         attr("scale", &LinearAttention::scale),
                                         attr("update_rule", &LinearAttention::update_rule)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("update_rule", update_rule, {"linear", "gated", "delta", "gated_delta"})) return;
    if (!q_num_heads || !kv_num_heads) return i.fail("q_num_heads and kv_num_heads are required");
    if (!i.expect_at_least("q_num_heads", *q_num_heads, 1) ||
        !i.expect_at_least("kv_num_heads", *kv_num_heads, 1))
      return;
    if (*q_num_heads % *kv_num_heads != 0)
      return i.fail(*kv_num_heads, " KV heads do not serve ", *q_num_heads, " query heads");
    const bool gated = update_rule == "gated" || update_rule == "gated_delta",
               delta = update_rule == "delta" || update_rule == "gated_delta";
    if (i.has(4) != gated)
      return i.fail("update_rule '", update_rule, gated ? "' needs" : "' has no", " decay");
    if (i.has(5) != delta)
      return i.fail("update_rule '", update_rule, delta ? "' needs" : "' has no", " beta");

    Dim batch, steps;
    for (int k : {0, 1, 2, 4, 5}) {
      if (!i.expect_rank(k, 3)) return;
      if (!i.has(k) || !i.dims(k).ranked()) continue;
      batch = i.unify(batch, i.dims(k)[0], "batches");
      steps = i.unify(steps, i.dims(k)[1], "steps");
    }
    Dim key_size =
            i.unify(size_of(i, 0, *q_num_heads), size_of(i, 1, *kv_num_heads), "head sizes of query and key"),
        value_size = size_of(i, 2, *kv_num_heads);
    const Dim heads = *kv_num_heads;
    i.expect_extents(3, {batch, heads, key_size, value_size});
    if (const Dims& past = i.dims(3); past.ranked() && !i.failed()) {
      batch = i.unify(batch, past[0], "batches");
      key_size = i.unify(key_size, past[2], "head sizes of key and past_state");
      value_size = i.unify(value_size, past[3], "head sizes of value and past_state");
    }
    const auto expect_width = [&](int input, Dim one, Dim other) {
      if (!i.has(input) || !i.dims(input).ranked()) return;
      const Dim width = i.dims(input)[2];
      if (width.differs(one) && width.differs(other))
        i.fail(i.name(input), ": ", i.dims(input), ", expected ", one, " or ", other, " numbers a step");
    };
    expect_width(4, heads, heads * key_size);
    expect_width(5, heads, 1);
    i.out(0, {batch, steps, value_size * *q_num_heads});
    i.out(1, {batch, heads, key_size, value_size});
    // Without a past state, S is T.
    i.out(1).type = i.has(3) ? i.in(3).type : i.in(0).type;
  }
  template <class T>
  void compute(TensorView<const T> query, TensorView<const T> key, TensorView<const T> value,
               AnyView past_state, TensorView<const T> decay, TensorView<const T> beta, TensorView<T> output,
               AnyOut present_state) const {
    if (output.empty() && present_state.empty()) return;  // whatever the number of steps
    Scratch scratch;
    const auto wide = [&](TensorView<const T> v) { return widen(scratch, v.data(), v.size()); };
    kernels::LinearAttentionArgs<float> a;
    a.batch = query.extent(0), a.steps = query.extent(1);
    a.heads = *q_num_heads, a.kv_heads = *kv_num_heads;
    a.key_size = present_state.extent(2), a.value_size = present_state.extent(3);
    a.q = wide(query), a.k = wide(key), a.v = wide(value);
    if (decay) {
      float* factors = scratch.take<float>(decay.size());
      kernels::unary<kernels::UnaryOp::exp>(wide(decay), factors, decay.size());
      a.decay = factors;
      a.decay_size = decay.extent(2) == a.kv_heads ? 1 : a.key_size;
    }
    if (beta) a.beta = wide(beta), a.beta_heads = beta.extent(2);
    a.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<float>(a.key_size));
    const int64_t n = present_state.size();
    const bool direct = present_state.dtype() == DType::float32;
    a.state = direct ? static_cast<float*>(present_state.data()) : scratch.take<float>(n);
    if (past_state) std::copy_n(numbers<float>(scratch, past_state), n, a.state);
    else std::fill_n(a.state, n, 0.0f);
    a.y = wide_result(scratch, output.data(), output.size());
    kernels::linear_attention(a);
    narrow(a.y, output.data(), output.size());
    if (!direct)
      visit_types<float16, bfloat16>(present_state.dtype(), [&]<class S>() {
        narrow(a.state, static_cast<S*>(present_state.data()), n);
      });
  }
  template <class L>
  void loops(L& l) const {
    l.over({{0, 2}, {1, 2}, {2, 2}, {3, 1}, {4, 2}, {5, l.stretched(5, 2, 3)}}, {{0, 2}, {1, 1}},
           *kv_num_heads)
        .attributes = {"kv_num_heads", "q_num_heads"};
    l.over({{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}}, {{0, 0}, {1, 0}});
  }
  /// Of each step, the update of the state and its product with the queries.
  template <class L>
  double multiplications(const L& l) const {
    const auto q = static_cast<double>(*q_num_heads), kv = static_cast<double>(*kv_num_heads);
    return l.elements(l.out(1)) * l.extent(l.dims(0), 1) * (1 + q / kv);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  static constexpr Dim size_of(Infer& i, int input, int64_t heads) {
    const Dims& d = i.dims(input);
    if (!d.ranked() || !d[2].known()) return {};
    if (d[2].value() % heads != 0)
      return i.fail(i.name(input), ": ", d[2], " numbers do not make ", heads, " heads"), Dim();
    return d[2].value() / heads;
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::LinearAttention)

// Loop: a graph run repeatedly.   onnx.ai/onnx/operators/onnx__Loop.html
#pragma once

#include "tenon/op/families/control_flow.hpp"

namespace tenon::TENON_ABI::op {

/// Runs `body` at most M times, and as long as cond holds, which each run updates. Without cond the body's
/// condition is ignored; without M and cond the loop would never end, and is refused. The body takes the
/// number of the iteration, the condition and the state, and gives the condition, the state and scan outputs,
/// which are stacked along a new first axis. op::Loop{body}(int64_t{3}, true, x) gives the state after three
/// runs.
struct Loop {
  BodyRef body{};

  static constexpr Spec spec{
      .name = "Loop",
      .since = {1, 11, 13, 16, 19, 21, 23, 24, 25},
      .inputs = {{"M", "I", optional}, {"cond", "B", optional}, {"v_initial", "V", variadic, 0, true}},
      .outputs = {{"v_final_and_scan_outputs", "V", variadic, 1, true}},
      .types = {control_flow_types, {"I", types::int64}, {"B", types::boolean}},
      .deterministic = false,
      .old_inputs = {{10, 2, {"v_initial", "V", variadic, 1, true}}}};
  static constexpr Attributes attributes{attr("body", &Loop::body).required()};

  void infer(Infer& i) const {
    const int states = std::max(0, i.inputs() - 2);
    if (!body) return i.fail("the body is missing");
    if (body->inputs() != states + 2 || body->outputs() < states + 1 || body->outputs() < i.outputs() + 1)
      return i.fail("with ", states, " states and ", i.outputs(), " outputs, the body takes ", body->inputs(),
                    " values and returns ", body->outputs());
    i.for_runs([&] {
      if (!i.has(0) && !i.has(1)) i.fail("without M and cond the loop has no end");
    });
    if (!i.expect_one(0) || !i.expect_one(1)) return;
    std::vector<Info> state;
    for (int k = 0; k < states; ++k) state.push_back(shape_of(i.in(k + 2)));
    const std::vector<Info> out =
        infer_states(i, state, 1, [&](const std::vector<Info>& s) { return infer_step(s); });
    if (i.failed()) return;
    const Dim trips = trip_count(i, out[0]);
    for (int k = 0; k < i.outputs(); ++k) {
      const Info& item = out[static_cast<std::size_t>(k) + 1];
      if (k < states) {
        i.out(k) = state[static_cast<std::size_t>(k)];
        // Only a body that runs gives what an optional holds.
        if (is_held_by(i.out(k).type, item.type))
          i.out(k).type =
              trips.known() && trips.value() > 0 ? item.type : Type(Kind::unknown, DType::undefined);
        continue;
      }
      i.out(k).type = item.type;
      Dims d = item.dims;
      if (d.ranked()) d.insert(0, trips.known() ? Dim(std::max<int64_t>(0, trips.value())) : Dim());
      i.out(k, d);
    }
  }
  std::vector<Value> compute(Context& c, TensorView<const int64_t> m, TensorView<const bool> cond,
                             std::span<const Value* const> v_initial) const {
    const std::size_t states = v_initial.size(), given = static_cast<std::size_t>(body->outputs());
    const int64_t most = m ? m.item() : std::numeric_limits<int64_t>::max();
    bool go = !cond || cond.item();
    std::vector<Value> in(states + 2);
    for (std::size_t k = 0; k < states; ++k) in[k + 2] = v_initial[k] ? *v_initial[k] : Value();
    std::vector<std::vector<Value>> scans(given - states - 1);
    std::vector<bool> held(states);  // whether the body gave what the optional state holds
    int64_t trip = 0;
    for (; go && trip < most; ++trip) {
      in[0] = Tensor<int64_t>(extents_of_one(0), {trip});
      in[1] = Tensor<bool>(extents_of_one(1), {go});
      std::vector<Value> out = run_body(spec.name, body, c, in, given);
      if (cond) go = out[0].view<bool>().item();
      for (std::size_t k = 0; k < states; ++k) {
        Value& next = out[k + 1];
        held[k] = in[k + 2].is_optional() && is_held_by(in[k + 2].type(), next.type());
        if (held[k])
          next = OptionalValue{.element = next.type(), .value = std::make_shared<const Value>(next)};
        in[k + 2] = std::move(next);
      }
      for (std::size_t k = 0; k < scans.size(); ++k) scans[k].push_back(std::move(out[k + 1 + states]));
    }
    std::vector<Value> result;
    for (std::size_t k = 0; k < states; ++k)
      result.push_back(kept(held[k] ? *in[k + 2].optional().value : in[k + 2], c));
    std::vector<Info> infos;
    if (trip == 0 && !scans.empty()) {
      std::vector<Info> state;
      for (std::size_t k = 0; k < states; ++k) state.push_back(shape_of(info_of(in[k + 2])));
      infos = infer_step(state, &c);
    }
    for (std::size_t k = 0; k < scans.size(); ++k) {
      if (trip == 0) result.push_back(stacked_none(spec.name, infos[k + 1 + states], 0, c.allocator()));
      else result.push_back(stacked(spec.name, scans[k], 0, false, c.allocator()));
    }
    return result;
  }
  /// Of M runs if M is known, else of one.
  template <class L>
  double multiplications(const L& l) const {
    Ints m;
    const bool known = l.integers(0, m) && m.size() == 1;
    return l.body(body) * (known ? static_cast<double>(std::max<int64_t>(0, m[0])) : 1);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  // The number of runs, if it is known that no condition ends the loop before.
  static Dim trip_count(const Infer& i, const Info& go_on) {
    if (!i.has(1)) return i.item(0);
    const bool always = go_on.propagated.known() && go_on.propagated.size() == 1 && go_on.propagated[0].is(1);
    if (!always || !i.has(0)) return {};
    const Dim first = i.item(1);
    return first.is(1) ? i.item(0) : first.is(0) ? first : Dim();
  }
  // The iteration number and the condition are scalars, but bodies in the wild declare them as (1).
  Extents extents_of_one(int input) const {
    return body->declared_dims(input).rank() == 1 ? Extents{1} : Extents{};
  }
  std::vector<Info> infer_step(const std::vector<Info>& states, const Context* scope = nullptr) const {
    std::vector<Info> in(2);
    in[0].type = DType::int64;
    in[1].type = DType::bool_;
    in[0].dims = extents_of_one(0);
    in[1].dims = extents_of_one(1);
    in[1].propagated = {Dim(1)};  // else the body does not run
    in.insert(in.end(), states.begin(), states.end());
    return infer_body(body, in, scope);
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Loop)

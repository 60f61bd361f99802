// Scan: a graph run for each element along the axes of tensors.   onnx.ai/onnx/operators/onnx__Scan.html
#pragma once

#include "tenon/op/families/control_flow.hpp"

namespace tenon::TENON_ABI::op {

namespace scan_detail {

/// Slice t along an axis: borrowed if it is contiguous, else copied.
inline Value scan_slice(AnyView x, int axis, int64_t t, Allocator& allocator) {
  Extents extents(x.extents());
  extents.erase(axis);
  if (x.empty()) return AnyTensor::uninitialized(x.dtype(), extents, allocator);
  const auto [outer, extent, inner] = split_at(x.extents(), axis);
  const bool strings = x.dtype() == DType::string;
  const int64_t width = strings ? 8 * static_cast<int64_t>(sizeof(std::string)) : bits_of(x.dtype());
  if (outer == 1 && inner * width % 8 == 0)
    return lent({x.dtype(), static_cast<const char*>(x.data()) + t * (inner * width / 8), extents});
  AnyTensor slice = AnyTensor::uninitialized(x.dtype(), extents, allocator);
  const int64_t rows[] = {outer, inner}, to[] = {inner, 1}, from[] = {extent * inner, 1};
  kernels::move(x.dtype(), slice.out().data(), {0, to}, x.data(), {t * inner, from}, rows);
  return slice;
}

/// The results of a body that takes the states and `elements`. Leaves the final states in `state`: no run
/// changes their extents, so that the body also tells those that the operands do not.
inline std::vector<Info> infer_scan(Infer& i, const BodyRef& body, std::vector<Info>& state,
                                    const std::vector<Info>& elements) {
  const std::vector<Info> initial = state;
  std::vector<Info> out = infer_states(i, state, 0, [&](std::vector<Info> in) {
    in.insert(in.end(), elements.begin(), elements.end());
    return infer_body(body, in);
  });
  for (std::size_t k = 0; k < state.size(); ++k) {
    const Dims &before = initial[k].dims, &after = out[k].dims;
    Dims& last = state[k].dims;
    if (!before.ranked()) last = after;
    else if (last.ranked())
      for (int d = 0; d < last.rank(); ++d)
        if (!before[d].known() && after[d].known()) last[d] = after[d];
  }
  return out;
}

/// Runs the body `steps` times on `states`, which it replaces, and slice(step, k) for its further operands.
/// Returns its further results, step by step.
template <class Slice>
std::vector<std::vector<Value>> scan_steps(std::string_view name, const BodyRef& body, Context& c,
                                           std::vector<Value>& states, int64_t steps, std::size_t slices,
                                           Slice slice) {
  const std::size_t n = states.size(), given = static_cast<std::size_t>(body->outputs());
  std::vector<std::vector<Value>> scans(given - n);
  std::vector<Value> in(n + slices);
  for (int64_t t = 0; t < steps; ++t) {
    for (std::size_t k = 0; k < n; ++k) in[k] = std::move(states[k]);
    for (std::size_t k = 0; k < slices; ++k) in[n + k] = slice(t, k);
    std::vector<Value> out = run_body(name, body, c, in, given);
    for (std::size_t k = 0; k < n; ++k) states[k] = std::move(out[k]);
    for (std::size_t k = 0; k < scans.size(); ++k) scans[k].push_back(std::move(out[n + k]));
  }
  for (Value& v : states) v = kept(v, c);
  return scans;
}

/// Entry k of a list of directions; an absent list is all 0.
inline bool is_reverse(const std::vector<int64_t>& directions, std::size_t k) {
  return k < directions.size() && directions[k] == 1;
}

}  // namespace scan_detail

/// The last `num_scan_inputs` operands are cut along scan_input_axes, and the body is run for each of their
/// elements, from the last to the first if scan_input_directions say 1. It takes the state and the elements,
/// and gives the state and elements of the scan outputs, which are stacked along scan_output_axes, from the
/// last to the first if scan_output_directions say 1.
/// op::Scan{.body = body, .num_scan_inputs = 1}(state, x) gives the last state and the stacked results.
struct Scan {
  BodyRef body{};
  Opt<int64_t> num_scan_inputs{};
  std::vector<int64_t> scan_input_axes{};
  std::vector<int64_t> scan_input_directions{};
  std::vector<int64_t> scan_output_axes{};
  std::vector<int64_t> scan_output_directions{};

  static constexpr Spec spec{.name = "Scan",
                             .since = {9, 11, 16, 19, 21, 23, 24, 25},
                             .inputs = {{"initial_state_and_scan_inputs", "V", variadic, 1, true}},
                             .outputs = {{"final_state_and_scan_outputs", "V", variadic, 1, true}},
                             .types = {every_type("V")},
                             .deterministic = false};
  static constexpr Attributes attributes{attr("body", &Scan::body).required(),
                                         attr("num_scan_inputs", &Scan::num_scan_inputs).required(),
                                         attr("scan_input_axes", &Scan::scan_input_axes),
                                         attr("scan_input_directions", &Scan::scan_input_directions),
                                         attr("scan_output_axes", &Scan::scan_output_axes),
                                         attr("scan_output_directions", &Scan::scan_output_directions)};

  void infer(Infer& i) const {
    if (!body) return i.fail("the body is missing");
    if (!num_scan_inputs || *num_scan_inputs < 1 || *num_scan_inputs > i.inputs())
      return i.fail("num_scan_inputs ", num_scan_inputs.value_or(0), " of ", i.inputs(), " inputs");
    const int scanned = static_cast<int>(*num_scan_inputs), states = i.inputs() - scanned;
    if (body->inputs() != i.inputs() || body->outputs() < states || body->outputs() < i.outputs())
      return i.fail("with ", i.inputs(), " inputs, ", states, " of them states, and ", i.outputs(),
                    " outputs, the body takes ", body->inputs(), " values and returns ", body->outputs());
    for (int k = 0; k < i.inputs(); ++k)
      if (!i.has(k)) return i.fail("input ", k, " is left out");
    check_list(i, "scan_input_axes", scan_input_axes, scanned, false);
    check_list(i, "scan_input_directions", scan_input_directions, scanned, true);
    check_list(i, "scan_output_axes", scan_output_axes, body->outputs() - states, false);
    check_list(i, "scan_output_directions", scan_output_directions, body->outputs() - states, true);
    if (i.failed()) return;
    std::vector<Info> state, elements;
    for (int k = 0; k < states; ++k) state.push_back(shape_of(i.in(k)));
    Dim steps;
    for (int k = 0; k < scanned; ++k) {
      Info e = shape_of(i.in(states + k));
      if (e.dims.ranked()) {
        const int a = i.axis(axis_of(scan_input_axes, k), e.dims.rank());
        if (i.failed()) return;
        steps = i.unify(steps, e.dims[a], "lengths of scan inputs");
        e.dims.erase(a);
      }
      elements.push_back(e);
    }
    if (i.failed()) return;
    const std::vector<Info> out = scan_detail::infer_scan(i, body, state, elements);
    if (i.failed()) return;
    for (int k = 0; k < i.outputs(); ++k) {
      if (k < states) {
        i.out(k) = state[static_cast<std::size_t>(k)];
        continue;
      }
      i.out(k).type = out[static_cast<std::size_t>(k)].type;
      Dims d = out[static_cast<std::size_t>(k)].dims;
      if (d.ranked()) {
        const int a = i.axis(axis_of(scan_output_axes, k - states), d.rank() + 1);
        if (i.failed()) return;
        d.insert(a, steps);
      }
      i.out(k, d);
    }
  }
  std::vector<Value> compute(Context& c, std::span<const AnyView> operands) const {
    const std::size_t scanned = static_cast<std::size_t>(*num_scan_inputs),
                      states = operands.size() - scanned;
    std::vector<int> axes;
    for (std::size_t k = 0; k < scanned; ++k) {
      const int64_t a = axis_of(scan_input_axes, static_cast<int>(k));
      axes.push_back(resolve_axis(a, operands[states + k].rank()));
    }
    const int64_t steps = operands[states].extent(axes[0]);
    std::vector<Value> result;
    for (std::size_t k = 0; k < states; ++k) result.push_back(lent(operands[k]));
    const auto scans =
        scan_detail::scan_steps(spec.name, body, c, result, steps, scanned, [&](int64_t t, std::size_t k) {
          const int64_t at = scan_detail::is_reverse(scan_input_directions, k) ? steps - 1 - t : t;
          return scan_detail::scan_slice(operands[states + k], axes[k], at, c.allocator());
        });
    std::vector<Info> infos;
    if (steps == 0) {
      for (std::size_t k = 0; k < operands.size(); ++k) {
        Info e = shape_of(info_of(operands[k]));
        if (k >= states) e.dims.erase(axes[k - states]);
        infos.push_back(e);
      }
      infos = infer_body(body, infos, &c);
    }
    for (std::size_t k = 0; k < scans.size(); ++k) {
      const int64_t axis = axis_of(scan_output_axes, static_cast<int>(k));
      if (steps == 0) result.push_back(stacked_none(spec.name, infos[states + k], axis, c.allocator()));
      else
        result.push_back(stacked(spec.name, scans[k], axis,
                                 scan_detail::is_reverse(scan_output_directions, k), c.allocator()));
    }
    return result;
  }
  template <class L>
  double multiplications(const L& l) const {
    const int first = l.inputs() - static_cast<int>(*num_scan_inputs);
    return l.body(body) * l.extent(l.dims(first), static_cast<int>(axis_of(scan_input_axes, 0)));
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  static int64_t axis_of(const std::vector<int64_t>& axes, int k) {
    return axes.empty() ? 0 : axes[static_cast<std::size_t>(k)];
  }
  static void check_list(Infer& i, const char* name, const std::vector<int64_t>& list, int count,
                         bool directions) {
    if (!list.empty() && !i.expect_entries(name, list.size(), count)) return;
    for (int64_t d : list)
      if (directions && !i.expect_choice(name, d, {0, 1})) return;
  }
};

/// Every operand has a first axis, the batch, and the body runs through each entry of it separately. Scan
/// inputs are cut along axis 1, scan outputs stacked along it; where sequence_lens end an entry before the
/// longest, zeros follow.
struct Scan_8 {
  BodyRef body{};
  std::vector<int64_t> directions{};
  Opt<int64_t> num_scan_inputs{};

  static constexpr Spec spec{
      .name = "Scan",
      .since = {8},
      .inputs = {{"sequence_lens", "I", optional}, {"initial_state_and_scan_inputs", "V", variadic, 1, true}},
      .outputs = {{"final_state_and_scan_outputs", "V", variadic, 1, true}},
      .types = {{"I", types::int64}, {"V", types::all}},
      .deterministic = false};
  static constexpr Attributes attributes{attr("body", &Scan_8::body).required(),
                                         attr("directions", &Scan_8::directions),
                                         attr("num_scan_inputs", &Scan_8::num_scan_inputs).required()};

  void infer(Infer& i) const {
    const int operands = i.inputs() - 1;
    if (!body) return i.fail("the body is missing");
    if (!num_scan_inputs || *num_scan_inputs < 1 || *num_scan_inputs > operands)
      return i.fail("num_scan_inputs ", num_scan_inputs.value_or(0), " of ", operands, " operands");
    const int scanned = static_cast<int>(*num_scan_inputs), states = operands - scanned;
    if (body->inputs() != operands || body->outputs() < states || body->outputs() < i.outputs())
      return i.fail("with ", operands, " operands, ", states, " of them states, and ", i.outputs(),
                    " outputs, the body takes ", body->inputs(), " values and returns ", body->outputs());
    if (!directions.empty() && !i.expect_entries("directions", directions.size(), scanned)) return;
    for (int64_t d : directions)
      if (!i.expect_choice("directions", d, {0, 1})) return;
    Dim batch, steps;
    std::vector<Info> state, elements;
    for (int k = 0; k < operands; ++k) {
      Info e = shape_of(i.in(k + 1));
      if (e.dims.ranked()) {
        const int axes = k < states ? 1 : 2;
        if (e.dims.rank() < axes)
          return i.fail("operand ", k, " ", e.dims, " has fewer than ", axes, " axes");
        batch = i.unify(batch, e.dims[0], "batches");
        if (axes == 2) {
          steps = i.unify(steps, e.dims[1], "lengths of scan inputs");
          e.dims.erase(1);
        }
        e.dims.erase(0);
      }
      (k < states ? state : elements).push_back(e);
    }
    if (i.has(0) && i.ranked(0)) {
      if (!i.expect_rank(0, 1)) return;
      i.unify(batch, i.dims(0)[0], "batch and number of sequence_lens");
    }
    if (i.failed()) return;
    const std::vector<Info> out = scan_detail::infer_scan(i, body, state, elements);
    if (i.failed()) return;
    for (int k = 0; k < i.outputs(); ++k) {
      const Info& one = k < states ? state[static_cast<std::size_t>(k)] : out[static_cast<std::size_t>(k)];
      i.out(k).type = one.type;
      Dims d = one.dims;
      if (d.ranked()) {
        if (k >= states) d.insert(0, steps);
        d.insert(0, batch);
      }
      i.out(k, d);
    }
  }
  /// Error{out_of_range} for lengths below 0 or above the longest.
  std::vector<Value> compute(Context& c, TensorView<const int64_t> sequence_lens,
                             std::span<const AnyView> operands) const {
    const std::size_t scanned = static_cast<std::size_t>(*num_scan_inputs),
                      states = operands.size() - scanned;
    const std::size_t given = static_cast<std::size_t>(body->outputs());
    const int64_t batch = operands[states].extent(0), longest = operands[states].extent(1);
    std::vector<std::vector<Value>> results(given);  // of every entry of the batch, by output
    std::vector<Info> infos;
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t steps = sequence_lens ? sequence_lens[b] : longest;
      if (steps < 0 || steps > longest)
        raise(ErrorCode::out_of_range, spec.name, "sequence_lens has ", steps, ", the longest is ", longest);
      std::vector<Value> entries, state;
      for (const AnyView& x : operands) entries.push_back(scan_detail::scan_slice(x, 0, b, c.allocator()));
      for (std::size_t k = 0; k < states; ++k) state.push_back(entries[k]);
      auto scans =
          scan_detail::scan_steps(spec.name, body, c, state, steps, scanned, [&](int64_t t, std::size_t k) {
            const int64_t at = scan_detail::is_reverse(directions, k) ? steps - 1 - t : t;
            return scan_detail::scan_slice(entries[states + k].tensor().view(), 0, at, c.allocator());
          });
      for (std::size_t k = 0; k < states; ++k) results[k].push_back(std::move(state[k]));
      for (std::size_t k = states; k < given; ++k) {
        std::vector<Value>& items = scans[k - states];
        const bool ran = !items.empty();
        if (!ran && infos.empty()) infos = infer_elements(c, operands, states);
        if (longest == 0) {
          results[k].push_back(stacked_none(spec.name, infos[k], 0, c.allocator()));
          continue;
        }
        if (steps < longest) {
          const Info one = ran ? shape_of(info_of(items[0])) : infos[k];
          items.resize(static_cast<std::size_t>(longest), zeros_of(spec.name, one, c.allocator()));
        }
        results[k].push_back(stacked(spec.name, items, 0, false, c.allocator()));
      }
    }
    std::vector<Value> result;
    if (batch == 0) infos = infer_elements(c, operands, states);
    for (std::size_t k = 0; k < given; ++k) {
      if (batch > 0) {
        result.push_back(stacked(spec.name, results[k], 0, false, c.allocator()));
      } else {
        Info one = infos[k];
        if (k >= states && one.dims.ranked()) one.dims.insert(0, longest);
        result.push_back(stacked_none(spec.name, one, 0, c.allocator()));
      }
    }
    return result;
  }
  template <class L>
  double multiplications(const L& l) const {
    const Dims& x = l.dims(l.inputs() - static_cast<int>(*num_scan_inputs));
    return l.body(body) * l.extent(x, 0) * l.extent(x, 1);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  std::vector<Info> infer_elements(const Context& c, std::span<const AnyView> operands,
                                   std::size_t states) const {
    std::vector<Info> in;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      Info e = shape_of(info_of(operands[k]));
      if (k >= states) e.dims.erase(1);
      e.dims.erase(0);
      in.push_back(e);
    }
    return infer_body(body, in, &c);
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Scan, tenon::op::Scan_8)

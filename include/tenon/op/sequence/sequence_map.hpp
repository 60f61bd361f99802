// SequenceMap: a graph run for each tensor of sequences.   onnx.ai/onnx/operators/onnx__SequenceMap.html
#pragma once

#include "tenon/op/families/control_flow.hpp"

namespace tenon::TENON_ABI::op {

/// Runs `body` for each tensor of the first sequence. It takes that tensor, and for each further input the
/// input itself if it is a tensor, or the tensor at the same place if it is a sequence, which must be as long
/// as the first. Each of its results, which are tensors, becomes a sequence.
/// op::SequenceMap{body}(sequence, x) gives (body(sequence[0], x), body(sequence[1], x), …).
struct SequenceMap {
  BodyRef body{};

  static constexpr Spec spec{
      .name = "SequenceMap",
      .since = {17},
      .inputs = {{"input_sequence", "S"}, {"additional_inputs", "V", variadic, 0, true}},
      .outputs = {{"out_sequence", "S", variadic, 1, true}},
      .types = {{"S", seq(types::all)}, {"V", types::all | seq(types::all)}},
      .deterministic = false};
  static constexpr Attributes attributes{attr("body", &SequenceMap::body).required()};

  void infer(Infer& i) const {
    if (!body) return i.fail("the body is missing");
    if (body->inputs() != i.inputs() || body->outputs() < i.outputs())
      return i.fail("with ", i.inputs(), " inputs and ", i.outputs(), " outputs, the body takes ",
                    body->inputs(), " values and returns ", body->outputs());
    std::vector<Info> samples;
    for (int k = 0; k < i.inputs(); ++k) {
      if (!i.has(k)) return i.fail("input ", k, " is missing");
      samples.push_back(sample_of(i.in(k)));
    }
    const std::vector<Info> out = infer_body(body, samples);
    for (int k = 0; k < i.outputs(); ++k) {
      const Info& one = out[static_cast<std::size_t>(k)];
      if (one.present() && one.type.kind != Kind::unknown) {
        if (one.type.kind != Kind::tensor) return i.fail_type("result ", k, " of the body is no tensor");
        i.out(k).type = Type(Kind::sequence, one.type.element);
      }
      i.out(k, one.dims);
    }
  }
  /// Error{invalid_shape} if sequences differ in length.
  std::vector<Value> compute(Context& c, const Value& input_sequence,
                             std::span<const Value* const> additional_inputs) const {
    const std::size_t count = input_sequence.sequence().items.size(),
                      given = static_cast<std::size_t>(body->outputs());
    std::vector<Value> in{input_sequence};
    for (const Value* v : additional_inputs) {
      in.push_back(*v);
      if (v->is_sequence() && v->sequence().items.size() != count)
        raise(ErrorCode::invalid_shape, spec.name, "sequences of ", count, " and of ",
              v->sequence().items.size(), " tensors");
    }
    std::vector<Sequence> results(given);
    std::vector<Value> sample(in.size());
    for (std::size_t at = 0; at < count; ++at) {
      for (std::size_t k = 0; k < in.size(); ++k)
        sample[k] = in[k].is_sequence() ? in[k].sequence().items[at] : in[k];
      std::vector<Value> out = run_body(spec.name, body, c, sample, given);
      for (std::size_t k = 0; k < given; ++k) {
        const DType element = out[k].tensor().dtype();
        if (at > 0 && results[k].element.element != element)
          raise(ErrorCode::invalid_type, spec.name, "result ", k, " of the body is tensor(",
                tenon::name_of(element), "), and was tensor(", tenon::name_of(results[k].element.element),
                ")");
        results[k].element = element;
        results[k].items.push_back(std::move(out[k]));
      }
    }
    if (count == 0) name_types(in, results);
    return {std::make_move_iterator(results.begin()), std::make_move_iterator(results.end())};
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// What the body gets of an operand: one of its tensors if it is a sequence.
  static Info sample_of(const Info& operand) {
    Info i = shape_of(operand);
    if (i.type.kind == Kind::sequence) i.type = i.type.element;
    return i;
  }
  /// Sets the element types of the results of a body that never ran.
  void name_types(std::span<const Value> in, std::span<Sequence> results) const {
    std::vector<Info> samples;
    for (const Value& v : in) samples.push_back(sample_of(info_of(v)));
    const std::vector<Info> out = infer_body(body, samples);
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (out[k].type.kind != Kind::tensor)
        raise(ErrorCode::invalid_type, spec.name,
              "the body did not run, and does not tell the types of its results");
      results[k].element = out[k].type;
    }
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::SequenceMap)

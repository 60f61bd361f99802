// Conversion between IR versions.
#include <set>

#include "loader/check/check.hpp"
#include "loader/convert/convert.hpp"
#include "loader/format/large_data.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

// Before IR 4 initializers are values of inputs, so other constants are nodes.
void turn_initializers_into_nodes(onnx::GraphProto& g) {
  std::set<std::string_view> inputs;
  for (const auto& v : g.input()) inputs.insert(v.name());
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  google::protobuf::RepeatedPtrField<onnx::TensorProto> kept;
  for (auto& t : *g.mutable_initializer()) {
    if (inputs.contains(t.name())) {
      kept.Add()->Swap(&t);
      continue;
    }
    onnx::NodeProto& n = *nodes.Add();
    n.set_op_type("Constant");
    n.set_name(t.name());
    n.add_output(t.name());
    t.clear_name();
    onnx::AttributeProto& a = *n.add_attribute();
    a.set_name("value");
    a.set_type(onnx::AttributeProto::TENSOR);
    a.mutable_t()->Swap(&t);
  }
  g.mutable_initializer()->Swap(&kept);
  for (auto& n : *g.mutable_node()) {
    for (auto& a : *n.mutable_attribute())
      if (a.has_g()) turn_initializers_into_nodes(*a.mutable_g());
    nodes.Add()->Swap(&n);
  }
  g.mutable_node()->Swap(&nodes);
}

}  // namespace

void convert_ir_version(onnx::ModelProto& model, int64_t ir_version) {
  if (ir_version < oldest_ir_version || ir_version > onnx::IR_VERSION)
    throw Error(ErrorCode::invalid_argument, "model",
                str_cat("IR version ", ir_version, ": there are ", oldest_ir_version, " to ",
                        static_cast<int>(onnx::IR_VERSION), " that import opsets"));
  std::set<std::string> before;
  for (const Diagnostic& d : check(model)) before.insert(to_string(d));
  LargeData data(model);
  onnx::ModelProto converted = model;
  converted.set_ir_version(ir_version);
  if (ir_version < ir_of_plain_initializers) turn_initializers_into_nodes(*converted.mutable_graph());
  for (const Diagnostic& d : check(converted))
    if (d.severity == Severity::error && !before.contains(to_string(d)))
      throw Error(ErrorCode::not_supported, str_cat("IR version ", ir_version), to_string(d));
  data.put_into(converted);
  model.Swap(&converted);
}

}  // namespace tenon::TENON_ABI::loader

#include "loader/check/check.hpp"

#include "loader/check/checker.hpp"
#include "loader/format/large_data.hpp"
#include "loader/infer/infer.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

template <class F>
std::vector<Diagnostic> run(const CheckOptions& options, const Versions& versions, F f) {
  Checker checker(options, versions);
  f(checker);
  return checker.take();
}

}  // namespace

std::vector<Diagnostic> check(const onnx::ModelProto& model, const CheckOptions& options) {
  return run(options, {}, [&](Checker& c) {
    c.model(model);
    if (options.full) c.report_unchecked();
    if (!options.full || c.findings().errors() > 0) return;
    onnx::ModelProto copy = copy_for_inference(model);
    try {
      infer_shapes(copy, {.registry = options.registry, .strict = true, .check_types = true});
    } catch (const Error& e) {
      if (e.code() == ErrorCode::not_supported) c.findings().warn("inference", e.what());
      else c.findings().error("inference", e.what());
    }
  });
}
std::vector<Diagnostic> check(const onnx::GraphProto& graph, const CheckOptions& options,
                              const Versions& versions) {
  return run(options, versions, [&](Checker& c) {
    c.main_graph(graph);
    check_stages(graph, c.findings());
  });
}
std::vector<Diagnostic> check(const onnx::FunctionProto& function, const CheckOptions& options,
                              const Versions& versions) {
  return run(options, versions, [&](Checker& c) {
    c.function(function);
    check_stages(function, c.findings());
  });
}
std::vector<Diagnostic> check(const onnx::NodeProto& node, const CheckOptions& options,
                              const Versions& versions) {
  return run(options, versions, [&](Checker& c) {
    Within within(c.findings(), {.what = "", .node = &node});
    c.node(node, {});
  });
}
std::vector<Diagnostic> check(const onnx::AttributeProto& attribute, const CheckOptions& options,
                              const Versions& versions) {
  return run(options, versions, [&](Checker& c) { c.attribute(attribute, {}); });
}
std::vector<Diagnostic> check(const onnx::TensorProto& tensor, const CheckOptions& options,
                              const Versions& versions) {
  return run(options, versions, [&](Checker& c) { check_tensor(tensor, c.findings()); });
}
std::vector<Diagnostic> check(const onnx::SparseTensorProto& tensor, const CheckOptions& options,
                              const Versions& versions) {
  return run(options, versions, [&](Checker& c) { check_sparse_tensor(tensor, c.findings()); });
}
std::vector<Diagnostic> check(const onnx::ValueInfoProto& value, const CheckOptions& options,
                              const Versions& versions) {
  return run(options, versions, [&](Checker& c) { check_value_info(value, true, c.findings()); });
}

}  // namespace tenon::TENON_ABI::loader

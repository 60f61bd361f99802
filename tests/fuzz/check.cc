// check on any message: diagnostics, never an Error.
#include "loader/check/check.hpp"

#include "tests/fuzz/support.hpp"

namespace tenon::fuzz {
namespace {

template <class Message>
void run(const Input& input) {
  Message m;
  if (!input.read(m)) return;
  const CheckOptions options{.registry = &registry(),
                             .full = (input.choice & 8) != 0,
                             .skip_opset_compatibility = (input.choice & 16) != 0,
                             .custom_domains = (input.choice & 32) != 0,
                             .pedantic = (input.choice & 64) != 0};
  for (const Diagnostic& d : loader::check(m, options)) {
    const std::string text = to_string(d);
    require(!d.message.empty() && !d.rule.empty(), "a diagnostic names its rule and describes the fault",
            text);
  }
}

}  // namespace
}  // namespace tenon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon::fuzz;
  const Input input(data, size);
  switch (input.choice % 8) {
    case 0: run<tenon::onnx::GraphProto>(input); break;
    case 1: run<tenon::onnx::FunctionProto>(input); break;
    case 2: run<tenon::onnx::NodeProto>(input); break;
    case 3: run<tenon::onnx::AttributeProto>(input); break;
    case 4: run<tenon::onnx::TensorProto>(input); break;
    case 5: run<tenon::onnx::SparseTensorProto>(input); break;
    case 6: run<tenon::onnx::ValueInfoProto>(input); break;
    default: run<tenon::onnx::ModelProto>(input); break;
  }
  return 0;
}

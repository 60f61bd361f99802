// Missing operators, types and opsets: all in one error, before a graph is read.
#include "loader/graph/importer.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

// What to do about operators of other domains; empty where nothing is known.
std::string_view advice_on(std::string_view domain, std::string_view name, const Registry& registry) {
  constexpr std::string_view pack = "com.microsoft";
  constexpr std::string_view searches[] = {"BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"};
  if (domain == pack && std::ranges::find(searches, name) != std::end(searches))
    return "Operators that generate texts are not supported: export the decoder without them, and generate "
           "with tenon/generate.hpp";
  if (domain == pack && name == "DecoderMaskedSelfAttention")
    return "Operators of ONNX Runtime's own search for texts on other devices are not supported: export the "
           "decoder with MultiHeadAttention, and generate with tenon/generate.hpp";
  if (domain == pack && name == "EPContext")
    return "EPContext is a part that was compiled for one device: use the model from which it was made";
  if (domain == pack && name == "MatMulFpQ4")
    return "MatMulFpQ4 has weights in the layout of one processor: quantise the original model to "
           "MatMulNBits, which took its place";
  if (domain == pack && registry.newest(pack) == 0)
    return "A program that links //:com_microsoft_operators, Tenon::com_microsoft in CMake, and passes a "
           "registry with register_com_microsoft has many of ONNX Runtime's operators";
  if (domain == pack)
    return "Exporters, and ONNX Runtime's optimiser and tools, write operators of com.microsoft: export with "
           "ONNX's own operators, or save the model before the optimiser, or with fewer optimisations";
  if (domain == "com.microsoft.nchwc" || domain == "com.ms.internal.nhwc")
    return "ONNX Runtime lays tensors out for one processor in this domain: save the optimised model at "
           "level extended or below";
  if (domain == "ai.onnx.contrib" || domain == "com.microsoft.extensions")
    return "ONNX Runtime's extensions, such as tokenizers and decoders, are not supported: run them before "
           "or after the model, or register operators for them";
  if (domain.starts_with("mmdeploy") || domain.starts_with("mmcv"))
    return "Plugins of MMDeploy are not supported: export with ONNX's own operators";
  if (domain.starts_with("trt.") || name.ends_with("_TRT"))
    return "Plugins of TensorRT are not supported: export for ONNX, with NonMaxSuppression in the place of "
           "their suppression";
  if (domain == "org.pytorch.aten")
    return "PyTorch writes operators that ONNX lacks into this domain: export without that fallback";
  return {};
}

}  // namespace

void Importer::report_missing() {
  for (const auto& [domain, version] : opsets_) check_opset(domain, version);
  scan(model_.graph(), opsets_);
  for (const auto& [key, f] : functions_) {
    const Opsets own = read_opsets(f->opset_import(), str_cat("function '", f->name(), "'"));
    for (const auto& n : f->node()) scan(n, own.empty() ? opsets_ : own);
    for (const auto& a : f->attribute_proto())
      if (a.has_g()) scan(a.g(), own.empty() ? opsets_ : own);
  }
  if (missing_.empty()) return;
  std::string list;
  for (const std::string& s : missing_) list += str_cat(list.empty() ? "" : "; ", s);
  for (const std::string_view advice : advice_) list += str_cat(". ", advice);
  throw Error(ErrorCode::not_supported, "model", str_cat("not supported: ", list));
}

void Importer::check_opset(const std::string& domain, int version) {
  // In other domains, a registry may lack the operators that introduced the newest version.
  if (!domain.empty() && !domain.starts_with("ai.onnx")) return;
  const int newest = registry_.newest(domain);
  if (newest > 0 && version > newest)
    missing_.insert(
        str_cat("opset ", version, " of ", display(domain), " (the newest known is ", newest, ")"));
}

void Importer::scan(const onnx::GraphProto& g, const Opsets& opsets) {
  for (const auto& v : g.input()) note_unsupported([&] { read_type(v.type()); });
  for (const auto& v : g.output()) note_unsupported([&] { read_type(v.type()); });
  for (const auto& v : g.value_info()) note_unsupported([&] { read_type(v.type()); });
  for (const auto& t : g.initializer()) scan_type(t.data_type());
  for (const auto& t : g.sparse_initializer()) scan_type(t.values().data_type());
  for (const auto& n : g.node()) scan(n, opsets);
}

void Importer::scan_type(int32_t number) {
  if (dtype_from_onnx(number) == DType::undefined) missing_.insert(str_cat("element type ", number));
}

void Importer::scan(const onnx::NodeProto& n, const Opsets& opsets) {
  for (const auto& a : n.attribute()) {
    if (a.has_g()) scan(a.g(), opsets);
    for (const auto& g : a.graphs()) scan(g, opsets);
    if (a.has_t()) scan_type(a.t().data_type());
  }
  if (find_function(n) != nullptr) return;
  if (find_operator(n, opsets).op_class != nullptr) return;
  const auto domain = canonical(n.domain());
  const auto it = opsets.find(domain);
  const bool imported = it != opsets.end();
  std::string place = imported ? str_cat(" at opset ", it->second) : " (the domain is not imported)";
  const Registry::Found newest = registry_.find(domain, n.op_type(), registry_.newest(domain));
  if (imported && newest.op_class != nullptr)
    place += str_cat(", which has it since opset ", newest.op_class->spec->since[0]);
  missing_.insert(str_cat("operator ", display(domain), ".", n.op_type(), place));
  if (const std::string_view advice = advice_on(domain, n.op_type(), registry_); !advice.empty())
    advice_.insert(advice);
}

Registry::Found Importer::find_operator(const onnx::NodeProto& n, const Opsets& opsets) const {
  const auto domain = canonical(n.domain());
  const auto it = opsets.find(domain);
  if (it != opsets.end()) return registry_.find(domain, n.op_type(), it->second);
  if (domain.empty()) return {};
  return registry_.find(domain, n.op_type(), registry_.newest(domain));
}

}  // namespace tenon::TENON_ABI::loader

// Checks of nodes: attributes, schemas.
#include <algorithm>
#include <unordered_set>

#include "loader/check/findings.hpp"
#include "tenon/loader.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

using onnx::AttributeProto;

// The value fields that an attribute has set.
std::vector<AttributeProto::AttributeType> fields_of(const AttributeProto& a) {
  std::vector<AttributeProto::AttributeType> fields;
  const auto add = [&](bool has, AttributeProto::AttributeType type) {
    if (has) fields.push_back(type);
  };
  add(a.has_f(), AttributeProto::FLOAT);
  add(a.has_i(), AttributeProto::INT);
  add(a.has_s(), AttributeProto::STRING);
  add(a.has_t(), AttributeProto::TENSOR);
  add(a.has_g(), AttributeProto::GRAPH);
  add(a.has_tp(), AttributeProto::TYPE_PROTO);
  add(a.has_sparse_tensor(), AttributeProto::SPARSE_TENSOR);
  add(a.floats_size() > 0, AttributeProto::FLOATS);
  add(a.ints_size() > 0, AttributeProto::INTS);
  add(a.strings_size() > 0, AttributeProto::STRINGS);
  add(a.tensors_size() > 0, AttributeProto::TENSORS);
  add(a.graphs_size() > 0, AttributeProto::GRAPHS);
  add(a.sparse_tensors_size() > 0, AttributeProto::SPARSE_TENSORS);
  add(a.type_protos_size() > 0, AttributeProto::TYPE_PROTOS);
  return fields;
}

const std::string& name_of(AttributeProto::AttributeType type) {
  return AttributeProto::AttributeType_Name(type);
}

// Numbers and lists may be absent if they are 0 or empty; messages may not.
bool is_message(AttributeProto::AttributeType type) {
  return type == AttributeProto::TENSOR || type == AttributeProto::GRAPH ||
         type == AttributeProto::SPARSE_TENSOR || type == AttributeProto::TYPE_PROTO;
}

// A schema, for one of its versions.
struct Schema {
  const OperatorClass* op_class = nullptr;
  const op::Spec* spec = nullptr;
  int version = 0;
  bool deprecated = false;
};

// GroupNormalization-18 computed something other than its text said; ONNX deprecated it in all opsets that
// contain it. The registry has it, because files of that time run.
bool was_never_sound(const Schema& s) {
  return s.spec != nullptr && s.spec->domain.empty() && s.spec->name == "GroupNormalization" &&
         s.version == 18;
}
// Experiments of opset 1 that were later standardised in another form.
bool is_before_standard(const Schema& s) {
  return s.spec != nullptr && s.spec->domain.empty() && s.version == 1 &&
         (s.spec->name == "MeanVarianceNormalization" || s.spec->name == "ThresholdedRelu");
}

Schema schema_of(const onnx::NodeProto& n, int opset, const Registry& registry) {
  const Registry::Found found = registry.find(n.domain(), n.op_type(), opset, true);
  if (found.op_class == nullptr) return {};
  const int until = found.op_class->spec->until;
  Schema s{found.op_class, found.op_class->spec, found.version, until != op::always && until < opset};
  if (is_before_standard(s)) return {};
  s.deprecated |= was_never_sound(s);
  return s;
}

const std::vector<op::AttributeInfo>& attributes_of(const Schema& s) {
  thread_local std::map<std::pair<const OperatorClass*, int>, std::vector<op::AttributeInfo>> known;
  const auto [it, added] = known.try_emplace({s.op_class, s.version});
  if (added) {
    it->second = s.op_class->attributes(s.op_class->create(s.version).get());
    std::erase_if(it->second, [&](const op::AttributeInfo& a) { return !a.in(s.version); });
  }
  return it->second;
}

// Names of inputs or of outputs, against the operator's parameters.
template <class Param>
void check_operands(std::string_view what, const google::protobuf::RepeatedPtrField<std::string>& names,
                    int params, int least, Param param, Findings& findings) {
  const bool variadic = params > 0 && param(params - 1).arity == op::Arity::variadic;
  if (names.size() < least)
    findings.error("arity", names.size(), " ", what, "s, at least ", least, " are needed");
  if (names.size() > params && !variadic)
    findings.error("arity", names.size(), " ", what, "s, but the operator has ", params);
  for (int k = 0; k < std::min(names.size(), params); ++k)
    if (names[k].empty() && param(k).arity == op::Arity::single)
      findings.error("arity", what, " ", k, " (", param(k).name, ") is left out, but not optional");
}

void check_attributes(const onnx::NodeProto& n, const Schema& s, Findings& findings) {
  const auto& infos = attributes_of(s);
  std::vector<bool> seen(infos.size());
  for (const auto& a : n.attribute()) {
    const auto it =
        std::find_if(infos.begin(), infos.end(), [&](const auto& i) { return i.name == a.name(); });
    if (it == infos.end()) {
      if (!a.name().starts_with("__"))  // the writer's own business
        findings.error("attribute", "the operator has no attribute ", shown(a.name()));
      continue;
    }
    seen[static_cast<std::size_t>(it - infos.begin())] = true;
    const std::string_view type = op::name_of(it->type);
    if (!a.has_type() && findings.ir_version < 2) continue;
    if (name_of(a.type()) != type)
      findings.error("attribute", "attribute ", shown(a.name()), " is of type ", name_of(a.type()), ", not ",
                     type);
    else if (is_message(a.type()) && a.ref_attr_name().empty() && fields_of(a).empty())
      findings.error("attribute", "attribute ", shown(a.name()), " has no value");
  }
  for (std::size_t k = 0; k < infos.size(); ++k)
    if (infos[k].required && !seen[k])
      findings.error("attribute", "the attribute '", infos[k].name, "' is required");
}

}  // namespace

bool has_domain(std::string_view domain, const Registry& registry) {
  return domain == "ai.onnx.training" ||
         registry.newest(domain) > 0;  // ONNX names it, but has no operators in it
}
bool is_complete(std::string_view domain, const Registry& registry) {
  return !domain.starts_with("ai.onnx.preview") && has_domain(domain, registry);
}

bool is_removed_experiment(const onnx::NodeProto& n) {
  static const std::unordered_set<std::string_view> names = {"ATen",
                                                             "Affine",
                                                             "ConstantFill",
                                                             "Crop",
                                                             "DynamicSlice",
                                                             "GRUUnit",
                                                             "GivenTensorFill",
                                                             "ImageScaler",
                                                             "ParametricSoftplus",
                                                             "Scale",
                                                             "ScaledTanh"};
  return canonical(n.domain()).empty() && names.contains(n.op_type());
}

bool same_operator(const onnx::NodeProto& n, int opset, int other, const Registry& registry) {
  const Schema a = schema_of(n, opset, registry), b = schema_of(n, other, registry);
  return a.version == b.version && a.deprecated == b.deprecated;
}

void check_attribute(const AttributeProto& a, Findings& findings) {
  constexpr std::string_view rule = "attribute";
  const std::string of = str_cat("attribute ", shown(a.name()));
  if (a.name().empty()) findings.error("required", "an attribute has no name");
  if (findings.ir_version >= 2 && a.type() == AttributeProto::UNDEFINED)
    findings.error("required", of, " has no type");
  const auto fields = fields_of(a);
  if (!a.ref_attr_name().empty() && !fields.empty())
    findings.error(rule, of, " refers to ", shown(a.ref_attr_name()), ", and has a value too");
  if (fields.size() > 1) findings.error(rule, of, " has values of ", fields.size(), " types");
  for (const auto type : fields)
    if (a.type() != AttributeProto::UNDEFINED && a.type() != type)
      findings.error(rule, of, " of type ", name_of(a.type()), " has a value of type ", name_of(type));
  if (a.has_t()) check_tensor(a.t(), findings);
  for (const auto& t : a.tensors()) check_tensor(t, findings);
  if (a.has_sparse_tensor()) check_sparse_tensor(a.sparse_tensor(), findings);
  for (const auto& t : a.sparse_tensors()) check_sparse_tensor(t, findings);
  if (a.has_tp()) check_type(a.tp(), a.name(), false, findings);
  for (const auto& t : a.type_protos()) check_type(t, a.name(), false, findings);
}

void check_schema(const onnx::NodeProto& n, int opset, bool unknown, Findings& findings) {
  const Schema s = schema_of(n, opset, findings.registry);
  if (s.spec == nullptr) {
    if (unknown)
      findings.error("operator", "there is no operator ", shown(n.op_type()), " in opset ", opset, " of ",
                     shown(display(n.domain())));
    return;
  }
  if (s.deprecated)
    return findings.error("operator", n.op_type(), " is deprecated in opset ", opset, " of ",
                          display(n.domain()));
  // Parameters of other versions follow this version's.
  const auto count = [&](int params, auto param) {
    int k = 0;
    while (k < params && param(k).in(s.version)) ++k;
    return k;
  };
  const auto input = [&](int k) -> const op::Param& { return s.spec->input(k, s.version); };
  const auto output = [&](int k) -> const op::Param& { return s.spec->output(k, s.version); };
  check_operands("input", n.input(), count(s.spec->inputs.size(), input), s.spec->min_inputs(s.version),
                 input, findings);
  check_operands("output", n.output(), count(s.spec->outputs.size(), output), s.spec->min_outputs(s.version),
                 output, findings);
  // The statistics of training are either all present or all absent.
  if (s.spec->domain.empty() && s.spec->name == "BatchNormalization" && n.output_size() > 1 &&
      n.output_size() < count(s.spec->outputs.size(), output))
    findings.error("arity", n.output_size(), " outputs: either 1 or all are needed");
  check_attributes(n, s, findings);
}

}  // namespace tenon::TENON_ABI::loader

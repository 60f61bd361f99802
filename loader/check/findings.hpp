// The findings of a check so far, and the place being checked; the checks of messages outside of graphs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "loader/check/check.hpp"
#include "loader/format/external.hpp"

namespace tenon::TENON_ABI::loader {

/// A name, in quotes and shortened.
std::string shown(std::string_view name);

/// The graphs, bodies and functions around the part that is being checked.
struct Place {
  Place* outer = nullptr;
  std::string_view what;                  ///< "main", "function", an attribute's name
  std::string_view name{};                ///< of a function
  const onnx::NodeProto* node = nullptr;  ///< being checked
  int index = 0;                          ///< the node's number
};

class Findings {
 public:
  explicit Findings(const CheckOptions& options, int64_t ir = onnx::IR_VERSION)
      : ir_version(ir),
        registry(registry_of(options.registry)),
        external(options.folder, options.trusted_root),
        options_(options) {}

  int64_t ir_version;
  const Registry& registry;
  ExternalFiles external;  ///< for a model whose folder is known
  Place* place = nullptr;

  /// A finding's number; none if there was no room for it.
  using Number = std::optional<std::size_t>;

  template <class... Parts>
  void error(std::string_view rule, const Parts&... parts) {
    numbered_error(rule, parts...);
  }
  template <class... Parts>
  Number numbered_error(std::string_view rule, const Parts&... parts) {
    ++errors_;
    if (!room()) return std::nullopt;
    add(Severity::error, rule, str_cat(parts...));
    return found_.size() - 1;
  }
  /// Appends to the message of a finding.
  void extend(Number finding, std::string_view text) {
    if (finding) found_[*finding].message += text;
  }
  template <class... Parts>
  void warn(std::string_view rule, const Parts&... parts) {
    if (room()) add(Severity::warning, rule, str_cat(parts...));
  }
  int64_t errors() const { return errors_; }
  std::vector<Diagnostic> take();

  const CheckOptions& options() const { return options_; }

 private:
  bool room() {
    const bool is = static_cast<int>(found_.size()) < options_.max_diagnostics;
    left_out_ += !is;
    return is;
  }
  void add(Severity severity, std::string_view rule, std::string message);

  const CheckOptions& options_;
  std::vector<Diagnostic> found_;
  int64_t errors_ = 0, left_out_ = 0;
};

/// Encloses all checks in a place while it lives.
class Within {
 public:
  Within(Findings& findings, Place place) : findings_(findings), place_(place) {
    place_.outer = findings.place;
    findings.place = &place_;
  }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  ~Within() { findings_.place = place_.outer; }

 private:
  Findings& findings_;
  Place place_;
};

/// The deepest nesting of bodies, types and calls that is still checked.
inline constexpr int max_nesting = 200;

/// Whether the IR version has the element type `element`.
void check_element(int32_t element, std::string_view name, Findings& findings);
/// A type; `complete`: as required for inputs and outputs of main graphs.
void check_type(const onnx::TypeProto& type, std::string_view name, bool complete, Findings& findings,
                int depth = 0);
/// An input or output; `main`: of a main graph.
void check_value_info(const onnx::ValueInfoProto& value, bool main, Findings& findings);
void check_tensor(const onnx::TensorProto& tensor, Findings& findings);
void check_sparse_tensor(const onnx::SparseTensorProto& tensor, Findings& findings);

/// Keys must be unique.
void check_keys(const google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>& entries,
                std::string_view what, Findings& findings);

/// An attribute's own form: name, type, one value. Graphs in it are not entered.
void check_attribute(const onnx::AttributeProto& attribute, Findings& findings);
/// A node against the schema of its operator at an opset. `unknown`: whether an operator without a schema is
/// an error.
void check_schema(const onnx::NodeProto& node, int opset, bool unknown, Findings& findings);
/// Whether the operator is one of ONNX's removed experiments. Such nodes have no schema, and pass.
bool is_removed_experiment(const onnx::NodeProto& node);
/// Whether two opsets have the same version of the node's operator.
bool same_operator(const onnx::NodeProto& node, int opset, int other, const Registry& registry);
/// Whether ONNX or the registry has the domain.
bool has_domain(std::string_view domain, const Registry& registry);
/// Whether all operators of the domain are in the registry, so that others are unknown. ONNX's previews are
/// open.
bool is_complete(std::string_view domain, const Registry& registry);

/// Symbols of extents: a symbol stands for one extent in a whole model.
class Symbols {
 public:
  /// Compares the declarations and initializers of a graph with each other, and with earlier graphs' ones.
  void check(const onnx::GraphProto& g, Findings& findings);

 private:
  void check_initial_value(const std::string& name, const onnx::TensorProto& t,
                           const onnx::TypeProto::Tensor& declared, Findings& findings);
  void bind(const std::string& symbol, const onnx::TensorShapeProto::Dimension& extent,
            std::string_view value, Findings& findings);

  std::unordered_map<std::string_view, int64_t> extents_;  // of symbols whose extent is known
};

/// Model-local functions. Recursive calls are errors.
using Functions = std::map<FunctionKey, const onnx::FunctionProto*>;
void check_cycles(const onnx::ModelProto& m, const Functions& functions, Findings& findings);

using Names = std::unordered_set<std::string_view>;
/// Bindings of initializers to outputs of the training graphs.
void check_bindings(const onnx::TrainingInfoProto& t, const onnx::GraphProto& main, Findings& findings);
/// An initializer is updated by at most one stage of training; no other stage updates one of the same name.
void check_updates(const onnx::ModelProto& m, Findings& findings);

/// Device configurations of a model by name.
using Configurations = std::map<std::string_view, const onnx::DeviceConfigurationProto*>;
Configurations check_configurations(const onnx::ModelProto& model, Findings& findings);
/// How a node is placed on devices. Null configurations: they are unknown. extents(name) are a value's
/// extents, -1 where unknown, or null if the rank is unknown.
void check_devices(const onnx::NodeProto& node, const Configurations* configurations,
                   const std::function<const std::vector<int64_t>*(const std::string&)>& extents,
                   Findings& findings);

/// Pipeline stages, of nodes in bodies too, and in functions where they are called: a node reads nothing that
/// a later stage computes, and a body's node waits for nothing of that kind.
void check_stages(const onnx::ModelProto& m, const Functions& functions, Findings& findings);
void check_stages(const onnx::GraphProto& main, Findings& findings);
void check_stages(const onnx::FunctionProto& f, Findings& findings);

}  // namespace tenon::TENON_ABI::loader

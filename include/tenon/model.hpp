// Models as their files state them: checking, editing, converting, merging and writing. Link //loader.
#pragma once

#include "tenon/graph/graph.hpp"
#include "tenon/loader.hpp"

namespace tenon::TENON_ABI {

namespace loader {
struct Message;  // loader/message.hpp
}

/// A model's description of itself.
struct ModelHeader {
  int64_t ir_version = 0;
  std::string producer_name, producer_version, domain, doc_string;
  int64_t model_version = 0;
  std::vector<std::pair<std::string, int64_t>> opset_imports;  ///< domain ("" is ai.onnx) and version
  std::vector<std::pair<std::string, std::string>> metadata;   ///< keys and values
};

/// A model as its file states it, including everything that runs do not need and unknown operators. It can be
/// checked, edited, converted, printed and saved whether or not it can run.
///
///     Model m = load_model("model.onnx");
///     m.set_extents("image", "[batch, 3, 224, 224]");
///     convert_opset(m, 21);
///     save(m, "converted.onnx");
///     Session s(m.graph());
class Model {
 public:
  /// An empty main graph with the newest IR version and the newest operator sets of ai.onnx and ai.onnx.ml.
  Model();
  /// From an onnx::ModelProto. `folder`: where external data of the message lies; empty: it has none. Needs
  /// "loader/message.hpp".
  explicit Model(loader::Message message, std::filesystem::path folder = {});
  Model(const Model& other);
  Model(Model&& other) noexcept;
  Model& operator=(Model other) noexcept;
  ~Model();

  /// The message, an onnx::ModelProto, for reading and changing. Needs "loader/message.hpp".
  auto& proto();
  const auto& proto() const;
  /// The folder that external data's locations are relative to.
  const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] ModelHeader header() const;

  /// The main graph, for a Session. Error{invalid_model} with the place that breaks ONNX's rules, such as an
  /// output whose declared type differs from its actual one. Error{not_supported} with a list of all unknown
  /// operators, domains, opsets and types.
  [[nodiscard]] Graph graph(const LoadOptions& options = {}) const;

  // --- editing the main graph; texts are in ONNX's textual syntax; others: Error{invalid_model} ---

  /// Adds an input or an output: m.add_input("float[batch, 3] x"). Error{invalid_argument} for an input whose
  /// name is taken, and for an output whose value does not exist or is an output already.
  void add_input(std::string_view text);
  void add_output(std::string_view text);
  /// Adds a constant. Error{invalid_argument} for a name that is taken, and for a value that is no tensor.
  void add_initializer(std::string_view name, const Value& value);
  /// Adds a node after the nodes whose results it reads: m.add_node("y = Conv <group = 2> (x, w)").
  /// Error{invalid_argument} for operands that do not exist and results whose names are taken.
  void add_node(std::string_view text);
  /// Removes an output; the value stays. Error{invalid_argument} if there is no such output.
  void remove_output(std::string_view name);
  /// Removes an input, an initializer, or the node that makes a result, with all its results.
  /// Error{invalid_argument} for a value that does not exist, that another node reads, or that is an output.
  void remove(std::string_view name);
  /// Renames a value everywhere. Error{invalid_argument} for a value that does not exist or of which bodies
  /// have another, and for a name that is taken.
  void rename(std::string_view from, std::string_view to);
  /// States the extents of a value: m.set_extents("x", "[batch, 3, 224]"). The element type must be known
  /// beforehand. Error{invalid_argument} for a value whose type is not stated or is not a tensor's.
  void set_extents(std::string_view name, std::string_view extents);
  /// Replaces a symbol with a number in all graphs: m.set_symbol("batch", 1). A model without the symbol
  /// stays as it is. Error{invalid_argument} for a negative extent.
  void set_symbol(std::string_view symbol, int64_t extent);

 private:
  std::unique_ptr<loader::Message> message_;
  std::filesystem::path folder_;
};

/// Reads a model, ".onnxtxt" and ".onnxtext" files as text. Error{io} when the file cannot be read,
/// Error{invalid_model} with the byte where it is not a message. Nothing else is checked.
[[nodiscard]] Model load_model(const std::filesystem::path& file);
/// The same from bytes in memory.
[[nodiscard]] Model parse_model(std::span<const std::byte> bytes);
/// The same from ONNX's textual syntax (github.com/onnx/onnx/blob/main/docs/Syntax.md). Error{invalid_model}
/// with the line and the column.
[[nodiscard]] Model parse_text(std::string_view text);
/// The model in that syntax, which cannot express everything (loader/text/print_text.hpp lists the
/// exceptions).
[[nodiscard]] std::string print_text(const Model& model);

/// How a model is written: its versions, and which tensors go to a file of their own.
struct SaveOptions {
  const Registry* registry = nullptr;   ///< see LoadOptions::registry; for the conversions
  std::optional<int> opset{};           ///< convert_opset first; of a Graph: as of ExportOptions
  std::optional<int64_t> ir_version{};  ///< convert_ir_version first; of a Graph: as of ExportOptions
  /// Initializers of at least this many bytes go to a file next to the model, smaller ones into the model's
  /// file. Absent: each stays where it is, and external data of another folder goes to a file next to the
  /// model.
  std::optional<int64_t> external_threshold{};
  /// Also tensors in attributes. The threshold applies in any case to those that are external already.
  bool external_attributes = false;
  /// The name of that file. "": made from the model's name and a digest of the data,
  /// "model.onnx.0123456789abcdef.data".
  std::string external_file{};
};

/// Writes a model.
///
///     save(model, "model.onnx", {.opset = 21, .external_threshold = 1 << 20});
///
/// The same model, options and name give the same bytes. The message is kept as it is, including unknown
/// fields, except for nodes that stand before others whose results they read, which move after these, and for
/// data that moves: elements in typed fields then become raw data. External data is
/// aligned to 64 bytes, and to whole pages from 64 KiB on. Tensors that share their data still do.
///
/// The model's file is replaced atomically, after the data is on the disk. Since different data gets a
/// different name, a model that is being replaced keeps its own data until then, and so do all programs that
/// have it open. The data of a replaced model is kept, because other models may refer to it.
///
/// External data of a model whose folder is unknown is left alone.
///
/// Error{io} when files cannot be written, or `external_file` exists with other data. Error{not_supported}
/// for 2 GB and more in the model's file. Error{invalid_argument} for an `external_file` that is not a plain
/// name. Error{invalid_model} for data that would have to move, but is invalid.
void save(const Model& model, const std::filesystem::path& file, const SaveOptions& options = {});

/// The versions of ONNX in which to_model writes a graph.
struct ExportOptions {
  const Registry* registry = nullptr;   ///< as LoadOptions::registry
  std::optional<int> opset{};           ///< of ai.onnx; default: the newest
  std::optional<int64_t> ir_version{};  ///< 3 or later; default: of the first ONNX release with the opset
};

/// A model equivalent to the graph: to_model(graph, {.opset = 17}).
///
/// Inputs and outputs keep names, types and extents. Other values keep unique names and get new ones where
/// they have none. Nodes and constants on which no output depends are left out. Nodes of old versions become
/// nodes of the opset. Operators of domains other than ai.onnx, including a program's own, are written as
/// they are; the model imports their domains at the newest version that a node states. An operator that
/// cannot be written so, but has a function (`lower`), is replaced by the function's nodes. An input or
/// output of unknown rank is written without extents; runtimes accept this, but ONNX's own checker does not.
///
/// Error{not_supported} with the node and the reason where the opset or the IR version cannot express a node
/// or a value. Error{invalid_argument} for an opset or IR version that does not exist, and where an output
/// has the name of a different input.
[[nodiscard]] Model to_model(const Graph& graph, const ExportOptions& options = {});
/// Writes the model of a graph. Errors as from to_model, and from saving a model.
void save(const Graph& graph, const std::filesystem::path& file, const SaveOptions& options = {});

// --- checking ---

/// How grave a breach is.
enum class Severity : uint8_t {
  warning,  ///< allowed, but not good style
  error
};

/// One breach of a rule.
struct Diagnostic {
  Severity severity = Severity::error;
  std::string graph;      ///< "main/'if1' (If).then_branch", "function local.f"; "" for the model itself
  std::string node;       ///< "'n' (Add)", or "3 (Add)" by number if it has no name; "" outside nodes
  std::string_view rule;  ///< a short name: "ssa", "arity", "tensor-data", …
  std::string message;
};
/// "error [ssa] main, node 'n' (Add): output 'y' is defined twice"
[[nodiscard]] std::string to_string(const Diagnostic& d);
[[nodiscard]] bool has_errors(std::span<const Diagnostic> diagnostics);

/// Which rules `check` applies.
struct CheckOptions {
  /// See LoadOptions::registry. Nodes of all its domains are checked against its operators.
  const Registry* registry = nullptr;
  /// Also run shape inference, as in ONNX's strict mode with checked types, if nothing else is wrong, warn of
  /// operators that are not known, and refuse names in bodies that hide outer values.
  bool full = false;
  /// Functions may import operator versions that differ from the model's.
  bool skip_opset_compatibility = false;
  /// Unknown operators are errors in all domains, not only in ONNX's and the registry's.
  bool custom_domains = false;
  /// Also warn about rules that hardly any model follows: names are C identifiers, nodes' names are unique, a
  /// model has a domain.
  bool pedantic = false;
  /// The folder that must contain the external data. Empty: only the model's references to it are checked.
  std::filesystem::path folder{};
  std::filesystem::path trusted_root{};  ///< as LoadOptions::trusted_root
  /// Further diagnostics are counted, but not kept.
  int max_diagnostics = 1000;
};

/// All breaches of ONNX's rules for its format and its operators, in the order of the model. External data
/// must exist if the model has a folder. Takes time linear in the model's size.
[[nodiscard]] std::vector<Diagnostic> check(const Model& model, const CheckOptions& options = {});

// --- rewriting ---

/// How strictly infer_shapes reads a model.
struct InferOptions {
  const Registry* registry = nullptr;  ///< as LoadOptions::registry
  bool strict = false;                 ///< errors, instead of nodes with unknown results
  bool check_types = false;            ///< operands of types that an operator does not take are errors, too
  int64_t max_nodes = 1'000'000;       ///< bounds the nodes; functions and bodies count once per use
};

/// Writes all types and extents that operators' rules can infer into the model: for graph outputs and body
/// inputs in their declarations, for all other values as value infos. Nothing is inferred from unknown
/// operators.
///
/// Error{invalid_model} when, with `strict`, a rule forbids a node's operands or contradicts what the model
/// declares. Operands that only runs refuse (Infer::for_runs) are not errors, because ONNX's inference
/// accepts them. Error{invalid_model}, strict or not, for functions that multiply beyond max_nodes or 1 GiB.
void infer_shapes(Model& model, InferOptions options = {});

/// Rewrites a model to an equivalent one at another operator set of ai.onnx, one version at a time. Bodies,
/// functions and training graphs are converted too; other domains keep their imported versions. A model that
/// imports other domains alone has no node to rewrite, and imports the set afterwards. Constants that become
/// attributes are removed if they have no other readers, together with the input of the same name. Outputs of
/// unknown rank get their inferred types. If the conversion of a function needs types, all its calls must
/// agree on them; inlining converts each call separately. If an uncalled function cannot be converted, all
/// uncalled functions are removed.
///
/// Error{invalid_model} for models that break ONNX's rules, Error{not_supported} with the operator and the
/// reason where the other set cannot express a node. The model is unchanged on errors. `registry`: see
/// LoadOptions::registry.
void convert_opset(Model& model, int opset, const Registry* registry = nullptr);

/// Converts a model to another IR version. Before IR 4, initializers that are not inputs become nodes.
/// Error{not_supported} with the first part of the model that the version lacks; the model is then unchanged.
void convert_ir_version(Model& model, int64_t ir_version);

/// The bounds of simplify.
struct SimplifyOptions {
  const Registry* registry = nullptr;  ///< as LoadOptions::registry
  /// The largest constant, in bytes, that may replace a node. A node that makes its constants smaller is
  /// replaced whatever the size.
  int64_t max_bytes = 1 << 20;
  /// Error{limit} after this time. The clock is read before each node, so an operator that has begun is
  /// finished. The model is then equivalent, with some of its bodies simplified.
  std::chrono::steady_clock::duration time_limit = std::chrono::steady_clock::duration::max();
};

/// Replaces nodes of the registry's operators by constants if all their operands are constant, or if
/// inference determines their results (a tensor's extents, and arithmetic on them). Removes nodes,
/// initializers and value infos on which no output depends. The model keeps its opset, IR version, interface,
/// names, metadata and functions. Initializers that are inputs do not count as constants, because runs may
/// replace their values. An If of a constant becomes its branch. Other nodes that run bodies are computed if
/// all that they read is constant and they are short (SessionOptions::fold_constants); else their bodies are
/// simplified. Nodes that draw random numbers or call functions stay.
///
///     simplify(model);
///
/// Inputs are assumed to have their declared extents. Unknown extents of an input can be set first
/// (Model::set_extents). Error{invalid_model} where the model imports opsets that do not exist.
void simplify(Model& model, const SimplifyOptions& options = {});

/// A function with all its overloads, or an operator.
struct FunctionName {
  std::string domain, name;
};

/// Which calls inline_functions replaces, and its bounds.
struct InlineOptions {
  const Registry* registry =
      nullptr;  ///< as LoadOptions::registry, for inference and for operators' functions
  std::optional<std::vector<FunctionName>> only{};  ///< absent: all functions
  std::vector<FunctionName> except{};               ///< these are kept, with their calls
  /// Also replace nodes of operators with a known function: ONNX's (loader/function/function_body.hpp), and
  /// the `lower` of others. `only` and `except` apply to them as well.
  bool schema_functions = false;
  /// Nodes of a function whose operators have another meaning at the caller's opset of ai.onnx are converted
  /// to that opset, as by convert_opset. False: a function at another opset than its caller cannot be
  /// inlined, as in ONNX's inliner.
  bool convert_opsets = true;
  /// Keep a function that cannot be inlined because of its caller's opsets, instead of raising an error.
  bool keep_incompatible = false;
  int64_t max_nodes = 1'000'000;  ///< bounds the calls, and the nodes that replace them
  int64_t max_bytes = 128 << 20;  ///< bounds the size of these nodes
};

/// Replaces calls of the model's functions, in graphs, bodies and functions that stay, with the functions'
/// nodes. Functions that were to be inlined are removed once they have no calls. A function's values and
/// nodes get names that are unused in the caller; its value infos are copied too. The caller imports domains
/// of these nodes that only the function imported.
///
///     inline_functions(model, {.only = {{{"local", "square"}}}});
///     inline_functions(model, {.only = {{{"", "Softmax"}}}, .schema_functions = true});
///
/// Operators' functions are expanded last, in all graphs and in functions that stay. The types that they need
/// are inferred.
///
/// Error{invalid_model}: functions that call themselves, and calls, attributes or names that fit no function.
/// Error{not_supported}: a function whose operators have another meaning at its caller's opsets and cannot be
/// converted; calls that multiply beyond the bounds. The model is unchanged on errors.
void inline_functions(Model& model, const InlineOptions& options = {});

/// Adds a prefix to the names of all values, nodes and functions, in bodies too. Symbols of extents stay.
/// Error{not_supported} for models with training information.
void add_prefix(Model& model, const std::string& prefix);

/// How merge joins two models.
struct MergeOptions {
  /// Pairs of an output of the first model and the input of the second that it feeds. Each input at most
  /// once.
  std::vector<std::pair<std::string, std::string>> connect{};
  /// Added to all names of a model, but not to names in `connect`.
  std::string prefix_a{}, prefix_b{};
};

/// Merges two models; the unconnected inputs and outputs of both remain. Extent symbols of the same name
/// become one. If the second has external data in another folder, the data of both are copied into the
/// message, and the result has no folder.
///
///     merge(encoder, decoder, {.connect = {{"features", "input"}}, .prefix_b = "decoder/"});
///
/// Error{invalid_argument}: models whose IR versions, opsets or metadata differ, names or functions that both
/// have, and connections of names that do not exist, or of contradictory types and extents.
/// Error{not_supported} for models with training information.
[[nodiscard]] Model merge(const Model& a, const Model& b, const MergeOptions& options = {});

/// The part of a main graph that computes `outputs` from `inputs`, with the initializers and functions that
/// it uses. Both may name any values, and keep their order. Types that the model leaves open, in whole or in
/// part, are inferred. Initializers of inputs remain default values if the input is listed, otherwise they
/// become constants.
///
/// Error{invalid_argument}: names that are repeated or unknown, values of unknown type, and outputs that need
/// other inputs. `registry`: see LoadOptions::registry.
[[nodiscard]] Model extract(const Model& model, const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs, const Registry* registry = nullptr);

/// The structural differences of two models, one line each, starting with the place, in the order of the
/// first model; empty for equal models:
///
///     main, node 'c' (Conv), attribute 'group': 1, and 2
///     main, initializer 'w': only in the first
///
/// Nodes are matched by the name of their first output. The order of initializers, value infos, attributes,
/// imports, functions and metadata is ignored. Of tensors with equal values, one in raw bytes or in a file
/// and the other not, a line says "values equal, storage differs". At most `most` lines are returned.
[[nodiscard]] std::vector<std::string> differences(const Model& a, const Model& b, int most = 1000);

// --- drawing ---

/// The model in Graphviz's language: a cluster for each body and function, a box for each node with its
/// constants and attributes, and edges labelled with the types that the model states. Call infer_shapes first
/// to label all edges. `dot -Tsvg` draws it.
///
///     infer_shapes(model);
///     std::ofstream("model.dot") << dot(model);
[[nodiscard]] std::string dot(const Model& model);
/// The model as one self-contained HTML page: a drawing with nodes folded by the scopes in their names
/// ("/layer1/conv/Conv"), expandable bodies and functions, search, and tables that work without scripts.
/// Names are always shown as text and never executed; the page's policy allows only its own script, and no
/// requests.
[[nodiscard]] std::string html(const Model& model);

}  // namespace tenon::TENON_ABI

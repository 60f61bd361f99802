// Models as their files say them: checked, edited, converted, put together, written. Link //loader.
#pragma once

#include "tenon/graph/graph.hpp"
#include "tenon/loader.hpp"

namespace tenon::TENON_ABI {

namespace loader {
struct Message;  // loader/message.hpp
}

/// What a model says of itself.
struct ModelHeader {
  int64_t ir_version = 0;
  std::string producer_name, producer_version, domain, doc_string;
  int64_t model_version = 0;
  std::vector<std::pair<std::string, int64_t>> opset_imports;  ///< domain ("" is ai.onnx) and version
  std::vector<std::pair<std::string, std::string>> metadata;   ///< keys and values
};

/// A model as its file says it, with everything that runs do not need and operators that nobody knows. Such a
/// model can be checked, edited, converted, printed and saved, whether it can run or not.
///
///     Model m = load_model("model.onnx");
///     m.set_extents("image", "[batch, 3, 224, 224]");
///     convert_opset(m, 21);
///     save(m, "converted.onnx");
///     Session s(m.graph());
class Model {
 public:
  /// An empty main graph, at the newest IR version and operator sets of ai.onnx and ai.onnx.ml.
  Model();
  /// Of an onnx::ModelProto. `folder`: where external data of the message lies; empty: it has none. Needs
  /// "loader/message.hpp".
  explicit Model(loader::Message message, std::filesystem::path folder = {});
  Model(const Model& other);
  Model(Model&& other) noexcept;
  Model& operator=(Model other) noexcept;
  ~Model();

  /// The message, an onnx::ModelProto, to read and to change. Needs "loader/message.hpp".
  auto& proto();
  const auto& proto() const;
  /// The folder that external data's locations are relative to.
  const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] ModelHeader header() const;

  /// The main graph, for a Session. Error{invalid_model} with the place that breaks ONNX's rules, such as an
  /// output that is declared of another type than it has. Error{not_supported} with a list of every unknown
  /// operator, domain, opset and type.
  [[nodiscard]] Graph graph(const LoadOptions& options = {}) const;

  // --- editing the main graph; texts are in ONNX's textual syntax ---

  /// Adds an input or an output: m.add_input("float[batch, 3] x"). Error{invalid_argument} for an input of a
  /// name that is taken, and an output of a value that is not there or is one already.
  void add_input(std::string_view text);
  void add_output(std::string_view text);
  /// Adds a constant.
  void add_initializer(std::string_view name, const Value& value);
  /// Adds a node behind the nodes whose results it reads: m.add_node("y = Conv <group = 2> (x, w)").
  /// Error{invalid_argument} for operands that are not there and results whose names are taken.
  void add_node(std::string_view text);
  /// Removes an output; the value stays.
  void remove_output(std::string_view name);
  /// Removes an input, an initializer, or the node of a result with all its results.
  /// Error{invalid_argument} for a value that another node reads or that is an output.
  void remove(std::string_view name);
  /// Gives a value another name wherever it is read. Error{invalid_argument} for a name that is taken.
  void rename(std::string_view from, std::string_view to);
  /// States the extents of a value: m.set_extents("x", "[batch, 3, 224]"). Of an unknown value, the element
  /// type has to be stated before. Error{invalid_argument} for a value that is no tensor.
  void set_extents(std::string_view name, std::string_view extents);
  /// Puts a number in the place of a symbol, in all graphs: m.set_symbol("batch", 1).
  void set_symbol(std::string_view symbol, int64_t extent);

 private:
  std::unique_ptr<loader::Message> message_;
  std::filesystem::path folder_;
};

/// Reads a model, ".onnxtxt" and ".onnxtext" files as text. Error{io} when the file cannot be read,
/// Error{invalid_model} with the byte where it is no message. Nothing else is checked.
[[nodiscard]] Model load_model(const std::filesystem::path& file);
/// The same from bytes in memory.
[[nodiscard]] Model parse_model(std::span<const std::byte> bytes);
/// The same from ONNX's textual syntax (github.com/onnx/onnx/blob/main/docs/Syntax.md). Error{invalid_model}
/// with the line and the column.
[[nodiscard]] Model parse_text(std::string_view text);
/// The model in that syntax, which has no words for some things (loader/text/print_text.hpp names them).
[[nodiscard]] std::string print_text(const Model& model);

struct SaveOptions {
  const Registry* registry = nullptr;   ///< as LoadOptions::registry, for the conversions
  std::optional<int> opset{};           ///< convert_opset first; of a Graph: as of ExportOptions
  std::optional<int64_t> ir_version{};  ///< convert_ir_version first; of a Graph: as of ExportOptions
  /// Initializers of at least so many bytes go to a file beside the model, and others into the model's file.
  /// Absent: each stays where it is, and external data of another folder goes to a file beside the model.
  std::optional<int64_t> external_threshold{};
  /// Also tensors in attributes. Those that are external already go by the threshold in any case.
  bool external_attributes = false;
  /// The name of that file. "": one made of the model's name and of a digest of the data,
  /// "model.onnx.0123456789abcdef.data".
  std::string external_file{};
};

/// Writes a model.
///
///     save(model, "model.onnx", {.opset = 21, .external_threshold = 1 << 20});
///
/// The same model, options and name give the same bytes. What the message has stays as it is, unknown fields
/// too, but for the data that goes from one place to another: elements in fields of their type become raw
/// data on the way. External data begins at multiples of 64 bytes, and at whole pages from 64 KiB on; tensors
/// that share their data still do.
///
/// The model's file is replaced whole or not at all, after the data is on the disk. Since other data has
/// another name, a model that is replaced has its own data until then, and so has everyone that has it open.
/// The data of a replaced model is left: other models may refer to it.
///
/// External data of a model whose folder is not known is left alone.
///
/// Error{io} when files cannot be written, or `external_file` is there already with other data.
/// Error{not_supported} for 2 GB and more in the model's file. Error{invalid_argument} for an `external_file`
/// that is no plain name. Error{invalid_model} for data that is to be moved, and is refused.
void save(const Model& model, const std::filesystem::path& file, const SaveOptions& options = {});

struct ExportOptions {
  const Registry* registry = nullptr;   ///< as LoadOptions::registry
  std::optional<int> opset{};           ///< of ai.onnx; default: the newest
  std::optional<int64_t> ir_version{};  ///< 3 or later; default: of the ONNX release that brought the opset
};

/// The model that runs as the graph does: to_model(graph, {.opset = 17}).
///
/// Inputs and outputs keep names, types and extents; other values keep names that are theirs alone and get
/// new ones where they have none. Nodes and constants on which no output depends are left out. Nodes of old
/// versions become nodes of the opset. Operators of domains besides ai.onnx, also of a program's own, are
/// stated as they are; the model imports their domains at the newest version that a node states. Where an
/// operator cannot be stated so and has a function (`lower`), its nodes take the node's place. An input or
/// output of a rank that nobody knows is written without extents, which runtimes take, and ONNX's own checker
/// does not.
///
/// Error{not_supported} with the node and the reason where the opset, or the IR version, cannot say what a
/// node or a value is. Error{invalid_argument} for an opset or IR version that is none, and where an
/// output has the name of an input that it is not.
[[nodiscard]] Model to_model(const Graph& graph, const ExportOptions& options = {});
/// Writes the model of a graph.
void save(const Graph& graph, const std::filesystem::path& file, const SaveOptions& options = {});

// --- checking ---

enum class Severity : uint8_t {
  warning,  ///< allowed, but no careful writer's work
  error
};

/// One breach of a rule.
struct Diagnostic {
  Severity severity = Severity::error;
  std::string graph;      ///< "main/'if1' (If).then_branch", "function local.f"; "" for the model itself
  std::string node;       ///< "'n' (Add)", or "3 (Add)" by number where it has no name; "" outside of nodes
  std::string_view rule;  ///< a short name: "ssa", "arity", "tensor-data", …
  std::string message;
};
/// "error [ssa] main, node 'n' (Add): output 'y' is defined twice"
[[nodiscard]] std::string to_string(const Diagnostic& d);
[[nodiscard]] bool has_errors(std::span<const Diagnostic> diagnostics);

struct CheckOptions {
  /// As LoadOptions::registry: nodes of all its domains are checked against the operators that it has.
  const Registry* registry = nullptr;
  /// Also shape inference, as ONNX's strict mode with checked types, where nothing else is wrong.
  bool full = false;
  /// Functions may import other versions of an operator than the model does.
  bool skip_opset_compatibility = false;
  /// Unknown operators are errors in all domains, not in ONNX's and the registry's alone.
  bool custom_domains = false;
  /// Also warnings about rules that hardly any model keeps: names are C identifiers, nodes' names are unique,
  /// a model has a domain.
  bool pedantic = false;
  /// Where external data lies: it must be there. Empty: only what the model says of it is looked at.
  std::filesystem::path folder{};
  std::filesystem::path trusted_root{};  ///< as LoadOptions::trusted_root
  /// More than these are counted, not kept.
  int max_diagnostics = 1000;
};

/// All breaches of ONNX's rules for its format and its operators, in the order of the model. External data
/// has to be there if the model has a folder. The time is in proportion to the model's size.
[[nodiscard]] std::vector<Diagnostic> check(const Model& model, const CheckOptions& options = {});

// --- rewriting ---

struct InferOptions {
  const Registry* registry = nullptr;  ///< as LoadOptions::registry
  bool strict = false;                 ///< errors, instead of nodes that tell nothing
  bool check_types = false;            ///< also operands of types that the operator does not take are errors
  int64_t max_nodes = 1'000'000;       ///< bounds nodes, where functions and bodies count once for each use
};

/// Writes the types and extents of all values that operators' rules can tell into the model: of graph outputs
/// and body inputs where they are declared, of all others as value infos. Nodes of unknown operators tell
/// nothing.
///
/// Error{invalid_model} when, with `strict`, a rule forbids a node's operands or contradicts what the model
/// declares. Operands that only runs cannot take (Infer::for_runs) are no error, as they are none of ONNX's
/// inference. Error{invalid_model}, strict or not, for functions that multiply beyond max_nodes or 1 GiB.
void infer_shapes(Model& model, InferOptions options = {});

/// Rewrites a model so that it means the same at another operator set of ai.onnx, in steps of one set.
/// Bodies, functions and training graphs go along; other domains keep the sets that are imported. Constants
/// that become attributes are left out where nothing else reads them, together with the input of their name.
/// Outputs of unknown rank get what inference tells of them. Where the conversion of a function needs types,
/// all its calls have to agree on them; inlining converts each call for itself. Where a function that
/// nothing calls cannot be converted, all functions that nothing calls are removed.
///
/// Error{invalid_model} for models that break ONNX's rules, Error{not_supported} with the operator and the
/// reason where the other set cannot say what a node means. The model is then as it was. `registry`: as
/// LoadOptions::registry.
void convert_opset(Model& model, int opset, const Registry* registry = nullptr);

/// Makes a model one of another IR version. Before IR 4, initializers that are no inputs become nodes.
/// Error{not_supported} with the first part of the model that the version has not; the model is then as it
/// was.
void convert_ir_version(Model& model, int64_t ir_version);

struct SimplifyOptions {
  const Registry* registry = nullptr;  ///< as LoadOptions::registry
  /// The largest constant, in bytes, that a node becomes. Nodes that make constants smaller become constants
  /// of any size.
  int64_t max_bytes = 1 << 20;
  /// Error{limit} after this time. The clock is read before each node, so that an operator which has begun is
  /// finished. The model then means the same, and has some of its bodies simplified.
  std::chrono::steady_clock::duration time_limit = std::chrono::steady_clock::duration::max();
};

/// Replaces nodes of the registry's operators by constants where all that they read is constant, or where
/// inference tells their results (the extents of a tensor, and arithmetic on them), and removes nodes,
/// initializers and value infos on which no output depends. The model stays at its opset and IR version;
/// interface, names, metadata and functions stay too. Initializers that are inputs are values that runs may
/// replace, and no constants. Nodes that draw random numbers, run bodies or call functions stay; bodies are
/// simplified.
///
///     simplify(model);
///
/// Extents are taken as the inputs declare them. An input's unknown extents can be set first
/// (Model::set_extents). Error{invalid_model} where the opsets that the model imports are none.
void simplify(Model& model, const SimplifyOptions& options = {});

/// Functions of all overloads of a name, or an operator.
struct FunctionName {
  std::string domain, name;
};

struct InlineOptions {
  const Registry* registry =
      nullptr;  ///< as LoadOptions::registry, for inference and for operators' functions
  std::optional<std::vector<FunctionName>> only{};  ///< absent: all functions
  std::vector<FunctionName> except{};               ///< these are kept, with the calls of them
  /// Also nodes of operators that functions define are replaced, where such a function is known: ONNX's
  /// (loader/function/function_body.hpp), and the `lower` of others. `only` and `except` hold for them as
  /// well.
  bool schema_functions = false;
  /// The nodes of a function whose operators mean something else at its caller's opset of ai.onnx are
  /// converted to that opset, as by convert_opset. False: such a function cannot be inlined.
  bool convert_opsets = true;
  /// A function that cannot be inlined, because its operators mean something else at the caller's opsets, is
  /// kept, and no error.
  bool keep_incompatible = false;
  int64_t max_nodes = 1'000'000;  ///< bounds the nodes that calls become, and the calls
  int64_t max_bytes = 128 << 20;  ///< bounds the size of these nodes
};

/// Replaces calls of the model's functions, in graphs, bodies and functions that stay, by the functions'
/// nodes. Functions that nothing calls any more are removed if they were to be inlined. Values and nodes of a
/// function get names that the caller has not; its value infos come along. A domain that only the function
/// imports is imported by the caller.
///
///     inline_functions(model, {.only = {{{"local", "square"}}}});
///     inline_functions(model, {.only = {{{"", "Softmax"}}}, .schema_functions = true});
///
/// Operators' functions come last, in the place of nodes of all graphs and of functions that stay. What they
/// need to know of types is inferred.
///
/// Error{invalid_model}: functions that call themselves, and calls, attributes or names that fit no function.
/// Error{not_supported}: a function whose operators are others at the opsets of its caller, and cannot be
/// converted; calls that multiply beyond the bounds. The model is then as it was.
void inline_functions(Model& model, const InlineOptions& options = {});

/// Puts a prefix before the names of all values, nodes and functions, in bodies too. Symbols of extents stay.
/// Error{not_supported} for models with training information.
void add_prefix(Model& model, const std::string& prefix);

struct MergeOptions {
  /// Outputs of the first model, and the inputs of the second that they become. Each input once.
  std::vector<std::pair<std::string, std::string>> connect{};
  /// Put before all names of a model, but not in `connect`.
  std::string prefix_a{}, prefix_b{};
};

/// One model of two, with the inputs and outputs of both that are not connected. A symbol of an extent that
/// both have is one symbol of the result. Where the second has external data in another folder, the
/// data of both are brought into the message, and the result has no folder.
///
///     merge(encoder, decoder, {.connect = {{"features", "input"}}, .prefix_b = "decoder/"});
///
/// Error{invalid_argument}: models whose IR versions, opsets or metadata differ, names or functions that both
/// have, and connections of names that are not there, or of types and extents that contradict each other.
/// Error{not_supported} for models with training information.
[[nodiscard]] Model merge(const Model& a, const Model& b, const MergeOptions& options = {});

/// The part of a main graph that makes the outputs of the inputs, any values by name, in the order given;
/// with the initializers and functions in use. Types that the model does not state are inferred. Initializers
/// with an input stay its default values if the input is named, else constants.
///
/// Error{invalid_argument}: names that are there twice or are no values, values whose types are not known,
/// and outputs that need other inputs. `registry`: as LoadOptions::registry.
[[nodiscard]] Model extract(const Model& model, const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs, const Registry* registry = nullptr);

/// What differs in the structure of two models. A line for each difference, the place first, in the order of
/// the first model; none for equal models:
///
///     main, node 'c' (Conv), attribute 'group': 1, and 2
///     main, initializer 'w': only in the first
///
/// Nodes are the same node where their first outputs have the same name. The order of initializers, value
/// infos, attributes, imports, functions and metadata tells nothing. Tensors are compared as they are stored,
/// external data by its place. After `most` lines the rest is left out.
[[nodiscard]] std::vector<std::string> differences(const Model& a, const Model& b, int most = 1000);

// --- drawing ---

/// The model in graphviz's language: a cluster for each body and function, a box for each node with its
/// constants and attributes, and edges with the types that the model states for their values. Call
/// infer_shapes before for the types of all values. `dot -Tsvg` draws it.
///
///     infer_shapes(model);
///     std::ofstream("model.dot") << dot(model);
[[nodiscard]] std::string dot(const Model& model);
/// The model as one page of HTML that needs nothing else: a drawing with nodes folded by the scopes in
/// their names ("/layer1/conv/Conv"), bodies and functions to open, search, and tables that can be read
/// without scripts. Whatever names hold is shown as text and never acts; the page's policy allows no script
/// but its own, and no request.
[[nodiscard]] std::string html(const Model& model);

}  // namespace tenon::TENON_ABI

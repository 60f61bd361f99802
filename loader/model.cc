// Model, and the functions on models, which call functions on messages.
#include "tenon/model.hpp"

#include <algorithm>

#include "loader/check/check.hpp"
#include "loader/convert/convert.hpp"
#include "loader/draw/dump.hpp"
#include "loader/edit/compose.hpp"
#include "loader/edit/diff.hpp"
#include "loader/edit/simplify.hpp"
#include "loader/format/large_data.hpp"
#include "loader/format/packed_file.hpp"
#include "loader/format/read_message.hpp"
#include "loader/format/save.hpp"
#include "loader/function/inline.hpp"
#include "loader/graph/export.hpp"
#include "loader/graph/import.hpp"
#include "loader/infer/infer.hpp"
#include "loader/message.hpp"
#include "loader/text/parse_text.hpp"
#include "loader/text/print_text.hpp"
#include "tenon/loader.hpp"

namespace tenon::TENON_ABI {

Model::Model() : Model(onnx::ModelProto()) {
  onnx::ModelProto& m = proto();
  m.set_ir_version(onnx::IR_VERSION);
  for (const char* domain : {"", "ai.onnx.ml"}) {
    auto& import = *m.add_opset_import();
    import.set_domain(domain);
    import.set_version(newest_opset(domain));
  }
  m.mutable_graph()->set_name("main");
}
Model::Model(loader::Message message, std::filesystem::path folder)
    : message_(std::make_unique<loader::Message>(std::move(message))), folder_(std::move(folder)) {}
Model::Model(const Model& other) : Model(other.proto(), other.folder_) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model other) noexcept {
  message_ = std::move(other.message_);
  folder_ = std::move(other.folder_);
  return *this;
}
Model::~Model() = default;

ModelHeader Model::header() const {
  ModelHeader h{.ir_version = proto().ir_version(),
                .producer_name = proto().producer_name(),
                .producer_version = proto().producer_version(),
                .domain = proto().domain(),
                .doc_string = proto().doc_string(),
                .model_version = proto().model_version(),
                .opset_imports = {},
                .metadata = {}};
  for (const auto& i : proto().opset_import())
    h.opset_imports.emplace_back(loader::canonical(i.domain()), i.version());
  for (const auto& e : proto().metadata_props()) h.metadata.emplace_back(e.key(), e.value());
  return h;
}

namespace {

// Where a run finds external data: in the caller's folder, or the model's own.
loader::DataSource external_source(const LoadOptions& options, const std::filesystem::path& folder,
                                   loader::Mapping mapping = loader::Mapping::whole) {
  const std::filesystem::path& where = options.external_folder.empty() ? folder : options.external_folder;
  loader::DataSource source;
  if (!where.empty())
    source.external = std::make_shared<loader::ExternalFiles>(where, options.trusted_root, mapping);
  return source;
}

onnx::ModelProto parse_bytes(std::span<const std::byte> text) {
  return loader::parse_text<onnx::ModelProto>({reinterpret_cast<const char*>(text.data()), text.size()});
}

Graph read_graph(
    const std::filesystem::path& file, const std::shared_ptr<const loader::MappedFile>& mapped,
    const LoadOptions& options, loader::DataSource source, loader::Placement placement,
    const std::function<void(const onnx::ModelProto&)>& look = [](const onnx::ModelProto&) {}) {
  return loader::in_file(file, [&] {
    if (static_cast<int64_t>(mapped->bytes().size()) > options.max_file_bytes)
      throw Error(ErrorCode::limit, {}, str_cat("has more than ", options.max_file_bytes, " bytes"));
    if (loader::format_of(file) == loader::ModelFormat::text) {
      const onnx::ModelProto message = parse_bytes(mapped->bytes());
      look(message);
      return loader::import_graph(message, options, std::move(source), placement);
    }
    source.model = mapped->bytes();
    source.file = mapped;
    google::protobuf::Arena arena;
    onnx::ModelProto& message = *onnx::ModelProto::default_instance().New(&arena);
    loader::read_message(mapped->bytes(), true, message);
    look(message);
    return loader::import_graph(message, options, std::move(source), placement);
  });
}

// Keeps a model's file and its external data for as long as a session lives: other files may have replaced
// them by the time they are read again.
class FileSource final : public GraphSource {
 public:
  FileSource(const std::filesystem::path& file, const LoadOptions& options)
      : file_(file), path_(std::filesystem::absolute(file)), options_(options) {
    for (auto* folder : {&options_.external_folder, &options_.trusted_root})
      if (!folder->empty()) *folder = std::filesystem::absolute(*folder);
    mapped_ = loader::MappedFile::open(file);
    source_ = external_source(options_, loader::folder_of(path_));
  }
  Graph read() const override {
    mapped_->check_unchanged(path_);
    source_.external->check_unchanged();
    // Sessions handle tensors that are not aligned.
    Graph graph = read_graph(file_, mapped_, options_, source_, loader::Placement::anywhere);
    if (mapped_.use_count() == 1) loader::FileBytes{mapped_->bytes(), mapped_}.forget();
    return graph;
  }

 private:
  std::filesystem::path file_, path_;
  LoadOptions options_;
  std::shared_ptr<const loader::MappedFile> mapped_;
  loader::DataSource source_;
};

}  // namespace

Graph Model::graph(const LoadOptions& options) const {
  return loader::import_graph(proto(), options, external_source(options, folder_));
}

Model load_model(const std::filesystem::path& file) {
  const auto mapped = loader::MappedFile::open(file);
  return loader::in_file(file, [&] {
    onnx::ModelProto message = loader::format_of(file) == loader::ModelFormat::text
                                   ? parse_bytes(mapped->bytes())
                                   : loader::read_whole_message(mapped);
    return Model(std::move(message), loader::folder_of(file));
  });
}
Model parse_model(std::span<const std::byte> bytes) {
  onnx::ModelProto message;
  loader::read_message(bytes, false, message);
  return Model(std::move(message));
}
Model parse_text(std::string_view text) { return Model(loader::parse_text<onnx::ModelProto>(text)); }
std::string print_text(const Model& model) { return loader::print_text(model.proto()); }

Graph load_graph(const std::filesystem::path& file, const LoadOptions& options) {
  return read_graph(file, loader::MappedFile::open(file), options,
                    external_source(options, loader::folder_of(file)), loader::Placement::aligned);
}

Graph loader::load_without_weights(
    const std::filesystem::path& file, const LoadOptions& options,
    const std::function<void(const onnx::ModelProto&, const std::shared_ptr<ExternalFiles>&)>& look) {
  const DataSource source = external_source(options, folder_of(file), Mapping::pieces);
  return read_graph(file, MappedFile::open(file), options, source, Placement::outside,
                    [&](const onnx::ModelProto& model) { look(model, source.external); });
}

Session load(const std::filesystem::path& file, const SessionOptions& session, const LoadOptions& options) {
  SessionOptions with_passes = loader::with_standard_passes(session);
  const auto source = std::make_shared<const FileSource>(file, options);
  Graph graph = source->read();
  if (!with_passes.source) with_passes.source = source;
  if (!options.packed_file.empty() && !with_passes.packed)
    with_passes.packed = std::make_shared<loader::PackedFile>(options.packed_file);
  return Session(std::move(graph), std::move(with_passes));
}

std::string to_string(const Diagnostic& d) {
  return str_cat(d.severity == Severity::error ? "error" : "warning", " [", d.rule, "]",
                 d.graph.empty() ? "" : " ", d.graph, d.node.empty() ? "" : ", node ", d.node, ": ",
                 d.message);
}

bool has_errors(std::span<const Diagnostic> diagnostics) {
  return std::ranges::any_of(diagnostics, [](const Diagnostic& d) { return d.severity == Severity::error; });
}

std::vector<Diagnostic> check(const Model& model, const CheckOptions& options) {
  CheckOptions within = options;
  if (within.folder.empty()) within.folder = model.folder();
  return loader::check(model.proto(), within);
}

void infer_shapes(Model& model, InferOptions options) { loader::infer_shapes(model.proto(), options); }
void convert_opset(Model& model, int opset, const Registry* registry) {
  loader::convert_opset(model.proto(), opset, loader::registry_of(registry));
}
void convert_ir_version(Model& model, int64_t ir_version) {
  loader::convert_ir_version(model.proto(), ir_version);
}
void simplify(Model& model, const SimplifyOptions& options) { loader::simplify(model.proto(), options); }

void inline_functions(Model& model, const InlineOptions& options) {
  loader::LargeData data(model.proto(), loader::LargeData::Of::initializers);
  onnx::ModelProto copy = model.proto();
  loader::inline_functions(copy, options);
  data.put_into(copy);
  model.proto().Swap(&copy);
}

void add_prefix(Model& model, const std::string& prefix) { loader::add_prefix(model.proto(), prefix); }
Model merge(const Model& a, const Model& b, const MergeOptions& options) {
  // References are relative to one folder.
  const auto embed = [](Model& m) {
    if (m.folder().empty()) return false;
    loader::ExternalFiles files(m.folder());
    return loader::embed_external_data(m.proto(), files);
  };
  Model first = a, second = b;
  const bool apart = !loader::same_folder(a.folder(), b.folder()) && embed(second);
  if (apart) embed(first);
  return Model(loader::merge(first.proto(), second.proto(), options), apart ? "" : a.folder());
}
Model extract(const Model& model, const std::vector<std::string>& inputs,
              const std::vector<std::string>& outputs, const Registry* registry) {
  return Model(loader::extract(model.proto(), inputs, outputs, registry), model.folder());
}
Model to_model(const Graph& graph, const ExportOptions& options) {
  return Model(loader::to_model(graph, options));
}
void save(const Model& model, const std::filesystem::path& file, const SaveOptions& options) {
  loader::save_model(model.proto(), file, options, external_source({}, model.folder()));
}
void save(const Graph& graph, const std::filesystem::path& file, const SaveOptions& options) {
  SaveOptions converted = options;
  converted.opset.reset(), converted.ir_version.reset();
  save(to_model(graph, {options.registry, options.opset, options.ir_version}), file, converted);
}

std::string dot(const Model& model) { return loader::dot(model.proto()); }
std::string html(const Model& model) { return loader::html(model.proto()); }

std::vector<std::string> differences(const Model& a, const Model& b, int most) {
  return loader::differences(a.proto(), b.proto(), most, a.folder(), b.folder());
}

}  // namespace tenon::TENON_ABI

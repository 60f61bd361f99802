#include "loader/tool/values.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "loader/display.hpp"
#include "loader/format/file.hpp"
#include "loader/tool/shapes.hpp"
#include "tenon/array/npy.hpp"
#include "tenon/base/convert.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/cast_like.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

namespace fs = std::filesystem;

// --- Integers that networks accept ---

constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

int64_t extent(const op::Info& info, int64_t axis) {
  if (!info.dims.ranked()) return unlimited;
  const int rank = info.dims.rank();
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || !info.dims[static_cast<int>(axis)].known()) return unlimited;
  return info.dims[static_cast<int>(axis)].value();
}

std::optional<int64_t> axis_of(const AnyOperator& op) {
  for (const op::AttributeInfo& a : op.attributes())
    if (a.name == "axis")
      if (const int64_t* const axis = std::get_if<int64_t>(&a.value)) return *axis;
  return {};
}

// Whether a node's results contain the integers of its first input, or of all members of a variadic one.
bool keeps_integers(const AnyOperator& op) {
  const op::Elements e = op.elements();
  return e == op::Elements::order || e == op::Elements::choice || op.as<op::Cast>() || op.as<op::CastLike>();
}

// For each value of a graph, the bound of its integers where operators use them as indices: the extent of the
// axis that a Gather indexes with the value itself, or with its elements after they were moved.
std::vector<int64_t> index_limits(const Graph& g) {
  std::vector<int64_t> limits(g.values().size(), unlimited);
  auto limit = [&](ValueId v, int64_t below) {
    if (v < 0) return;
    int64_t& known = limits[static_cast<std::size_t>(v)];
    known = std::min(known, below);
  };
  for (auto node = g.nodes().rbegin(); node != g.nodes().rend(); ++node) {
    const Graph::Node& n = *node;
    const op::Spec& spec = n.op.spec();
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      const int looked_up = spec.input(static_cast<int>(k)).looks_up;
      const ValueId in = looked_up < 0 ? -1 : n.inputs[static_cast<std::size_t>(looked_up)];
      if (in < 0) continue;
      const op::Info& table = g.entry(in).info;
      if (const auto axis = axis_of(n.op)) limit(n.inputs[k], extent(table, *axis));
      else
        for (int d = 0; table.dims.ranked() && d < table.dims.rank(); ++d)
          limit(n.inputs[k], extent(table, d));
    }
    if (keeps_integers(n.op)) {
      const auto of_first = [](const op::Param& p, const auto& members) {
        return std::span(members).first(
            p.arity == op::Arity::variadic ? members.size() : std::min<std::size_t>(1, members.size()));
      };
      for (const ValueId out : of_first(spec.output(0), n.outputs))
        for (const ValueId in : of_first(spec.input(0), n.inputs))
          if (out >= 0) limit(in, limits[static_cast<std::size_t>(out)]);
    }
    if (n.captures.empty()) continue;
    for (const op::AttributeInfo& a : n.op.attributes())
      detail::if_capturing(a.value, [&](const op::BodyRef&, const CapturingBody& body) {
        const std::vector<int64_t> inner = index_limits(body.graph());
        for (ValueId c : body.graph().captures())
          limit(body.graph().entry(c).outer, inner[static_cast<std::size_t>(c)]);
      });
  }
  return limits;
}

// Integers of 32 and 64 bits are indices if the graph uses them so; otherwise they are masks, positions or
// counts, for which 0 and 1 are always valid.
Value made_input(const Graph::ValueEntry& e, const Extents& extents, int64_t limit, uint64_t seed) {
  const DType element = e.info.type.element;
  if (e.info.type.kind != Kind::tensor || (element != DType::int64 && element != DType::int32))
    return random_value(e.info.type, extents, seed);
  const AnyTensor noise = random_value(DType::float64, extents, seed).tensor();
  const double below = limit == unlimited ? 2 : static_cast<double>(std::max<int64_t>(limit, 1));
  AnyTensor t = AnyTensor::uninitialized(element, extents);
  visit_dtype(element, [&]<class T>() {
    const auto out = t.out().as<T>();
    for (int64_t k = 0; k < out.size(); ++k)
      out[k] = convert<T>(static_cast<int64_t>(static_cast<const double*>(noise.data())[k] * below));
  });
  return t;
}

std::string in_small_letters(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

bool numpy_has(const Value& v) { return v.is_tensor() && !npy_type(v.tensor().dtype()).empty(); }

}  // namespace

InputSource parse_input(std::string_view option, const std::string& given) {
  const std::size_t equals = given.find('=');
  if (equals == std::string::npos) throw UsageError{str_cat(option, " takes NAME=SOURCE, not '", given, "'")};
  return {given.substr(0, equals), given.substr(equals + 1)};
}

Feeds make_feeds(const Graph& g, std::span<const InputSource> sources, const ShapeSet& shapes,
                 const std::string& model) {
  for (const InputSource& s : sources)
    if (std::ranges::none_of(g.inputs(), [&](ValueId v) { return g.entry(v).name == s.name; }))
      throw Error(ErrorCode::invalid_argument, model, str_cat("the model has no input '", s.name, "'"));
  const std::vector<int64_t> limits = index_limits(g);
  const std::size_t count = g.inputs().size();
  std::vector<std::optional<Value>> values(count);
  std::map<ValueId, Extents> given;
  const auto make = [&](std::size_t k, const Extents& extents) {
    const ValueId id = g.inputs()[k];
    values[k] = made_input(g.entry(id), extents, limits[static_cast<std::size_t>(id)], k + 1);
  };
  const auto source_of = [&](const Graph::ValueEntry& e) {
    return std::ranges::find(sources, e.name, &InputSource::name);
  };
  for (std::size_t k = 0; k < count; ++k) {
    const ValueId id = g.inputs()[k];
    const auto found = source_of(g.entry(id));
    const std::string source = found == sources.end() ? "" : found->source;
    if (source.starts_with("random:")) make(k, parse_extents(source.substr(7)));
    else if (!source.empty()) values[k] = read_value(g.entry(id), loader::path_named(source));
    if (values[k] && values[k]->is_tensor()) given.emplace(id, values[k]->tensor().extents());
  }
  const emission::InputExtents extents = input_extents(g, shapes, given);
  Feeds feeds;
  for (std::size_t k = 0; k < count; ++k) {
    const ValueId id = g.inputs()[k];
    const Graph::ValueEntry& e = g.entry(id);
    if (e.optional && source_of(e) == sources.end()) continue;
    if (!values[k]) make(k, default_extents(extents.of(id)));
    feeds.emplace_back(e.name, *std::move(values[k]));
  }
  if (extents.unused())
    throw Error(ErrorCode::invalid_argument, model,
                str_cat("--shape names '", *extents.unused(),
                        "', which is neither an input nor an open extent of one"));
  return feeds;
}

Value read_value(const Graph::ValueEntry& input, const fs::path& file) {
  const Type declared = input.info.type;
  if (file.extension() == ".npy") return read_npy(file);
  if (file.extension() == ".pb") return as_declared(read_pb(file, declared), declared);
  throw UsageError{
      str_cat("input '", input.name, "': '", loader::path_text(file), "' is no .npy and no .pb")};
}

fs::path file_of_value(const fs::path& folder, std::string_view name) {
  for (const char* extension : {".npy", ".pb"})
    if (fs::path file = folder / loader::path_named(file_stem(name) + extension); fs::exists(file))
      return file;
  return {};
}

std::vector<fs::path> numbered(const fs::path& folder, std::string_view stem) {
  std::vector<fs::path> files;
  for (int k = 0;; ++k) {
    fs::path f = folder / loader::path_named(str_cat(stem, "_", k, ".pb"));
    if (!fs::exists(f)) return files;
    files.push_back(std::move(f));
  }
}

Value as_declared(Value v, Type declared) {
  if (!v.is_tensor() || v.tensor().dtype() != DType::uint16 || !(declared == Type(DType::bfloat16))) return v;
  return AnyTensor(DType::bfloat16, v.tensor().extents(), v.tensor().storage());
}

Feeds read_data_set(const Graph& g, const fs::path& set) {
  const std::vector<fs::path> files = numbered(set, "input");
  std::vector<ValueId> ids;
  for (ValueId v : g.inputs())
    if (!g.entry(v).optional) ids.push_back(v);
  if (files.size() > ids.size()) ids = g.inputs();
  if (files.size() > ids.size())
    throw Error(ErrorCode::invalid_argument, loader::path_text(set),
                str_cat(files.size(), " inputs for ", ids.size()));
  Feeds feeds;
  for (std::size_t k = 0; k < files.size(); ++k) {
    const Graph::ValueEntry& e = g.entry(ids[k]);
    feeds.emplace_back(e.name, read_value(e, files[k]));
  }
  return feeds;
}

Feeds read_inputs(const Graph& g, const fs::path& folder, const std::string& model) {
  if (!fs::is_directory(folder)) throw Error(ErrorCode::io, loader::path_text(folder), "no such folder");
  if (fs::exists(folder / "input_0.pb")) return read_data_set(g, folder);
  std::vector<InputSource> sources;
  for (ValueId v : g.inputs())
    if (const fs::path file = file_of_value(folder, g.entry(v).name); !file.empty())
      sources.push_back({g.entry(v).name, loader::path_text(file)});
  if (sources.empty())
    throw Error(ErrorCode::io, loader::path_text(folder),
                "there is no input_0.pb, and no .npy or .pb of an input's name");
  return make_feeds(g, sources, {}, model);
}

std::string file_stem(std::string_view name) {
  constexpr std::size_t most = 100;
  constexpr std::string_view kept = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
  std::string stem(name.substr(0, most));
  for (char& c : stem)
    if (kept.find(c) == kept.npos) c = '_';
  if (stem.empty() || stem.front() == '.' || loader::os::names_device(stem)) stem.insert(stem.begin(), '_');
  return stem;
}

ValueFiles::ValueFiles(fs::path folder) : folder_(std::move(folder)) { fs::create_directories(folder_); }

// Some systems ignore the case of names, and only the file tells.
bool ValueFiles::is_taken(const Written& next) const {
  const auto [begin, end] = written_.equal_range(in_small_letters(next.stem));
  return std::any_of(begin, end, [&](const auto& entry) {
    std::error_code none;
    return entry.second.stem == next.stem || fs::equivalent(entry.second.file, next.file, none);
  });
}

void ValueFiles::write(const std::string& name, const Value& value) {
  const std::string first = file_stem(name), extension = numpy_has(value) ? ".npy" : ".pb";
  const auto named = [&](const std::string& stem) {
    return Written{stem, folder_ / loader::path_named(stem + extension)};
  };
  Written next = named(first);
  for (int k = 2; is_taken(next); ++k) next = named(str_cat(first, "-", k));
  if (numpy_has(value)) write_npy(next.file, value);
  else write_pb(next.file, value, name);
  table_ += str_cat(next.stem, extension, "\t", loader::visible(name), "\n");
  written_.emplace(in_small_letters(next.stem), std::move(next));
}

void ValueFiles::write_table() const { loader::write_file(folder_ / "values.tsv", table_); }

}  // namespace tenon::TENON_ABI::tool

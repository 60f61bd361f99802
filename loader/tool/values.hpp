// The values of runs: read from files, generated, and written to files.
#pragma once

#include <map>

#include "loader/compile/compile.hpp"
#include "loader/tool/command.hpp"
#include "tenon/graph/graph.hpp"

namespace tenon::TENON_ABI::tool {

/// An input of a run: a file, "random:1x3x224x224", or "" for one that is generated with the declared
/// extents.
struct InputSource {
  std::string name, source;
};
/// "image=cat.npy". UsageError otherwise.
InputSource parse_input(std::string_view option, const std::string& given);

/// The inputs of a run, from their sources. Inputs without a source are generated, identically in every run,
/// or left out if they have a value of their own; their extents come from `shapes`, else from the
/// declaration, else from other inputs with the same symbol, else they are 1. Refers to the graph's names.
/// Error for a source whose name is not an input's, and for a shape whose name is neither an input's nor a
/// symbol's.
Feeds make_feeds(const Graph& graph, std::span<const InputSource> sources, const ShapeSet& shapes,
                 const std::string& model);

/// The value of an input from a .npy or .pb file. UsageError for other extensions.
Value read_value(const Graph::ValueEntry& input, const std::filesystem::path& file);
/// The file of a value in a folder: NAME.npy, or else NAME.pb, with the name from file_stem. "" if neither
/// exists.
std::filesystem::path file_of_value(const std::filesystem::path& folder, std::string_view name);
/// folder/stem_0.pb and so on.
std::vector<std::filesystem::path> numbered(const std::filesystem::path& folder, std::string_view stem);
/// Old ONNX cases store bfloat16 as uint16 with the same bits, because numpy had no bfloat16.
Value as_declared(Value value, Type declared);
/// The inputs of a folder in the layout of ONNX's backend tests, input_0.pb and so on. The files are for the
/// inputs without a value of their own, in order. If there are more files, they are for all inputs.
Feeds read_data_set(const Graph& graph, const std::filesystem::path& set);
/// The inputs of a folder in that layout, or with files named after the inputs. Missing inputs are generated.
Feeds read_inputs(const Graph& graph, const std::filesystem::path& folder, const std::string& model);

/// The name of a value's file without extension. Values' names may contain any characters and have any
/// length; files' names may not.
std::string file_stem(std::string_view name);

/// Values as files in one folder, .npy if numpy has the type, else .pb.
class ValueFiles {
 public:
  explicit ValueFiles(std::filesystem::path folder);
  /// Names that map to the same file are distinguished by a number.
  void write(const std::string& name, const Value& value);
  /// Writes values.tsv: the file of each name.
  void write_table() const;

 private:
  struct Written {
    std::string stem;
    std::filesystem::path file;
  };
  bool is_taken(const Written& next) const;

  std::filesystem::path folder_;
  std::multimap<std::string, Written> written_;  // by stems in small letters
  std::string table_;
};

}  // namespace tenon::TENON_ABI::tool
